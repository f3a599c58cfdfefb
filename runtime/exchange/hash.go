package exchange

import (
	"github.com/selfregulating/sr/runtime"
	"github.com/zeebo/xxh3"
)

// Hash is the xxh3-64 (seed 0) of an encoded key.
func Hash(key []byte) uint64 { return xxh3.Hash(key) }

// Bucket is the bucket of an encoded key among n: its Hash modulo n. n must be positive. Stored state
// depends on it for ever; golden vectors hold it fast.
func Bucket(key []byte, n int) runtime.Bucket { return runtime.Bucket(Hash(key) % uint64(n)) }
