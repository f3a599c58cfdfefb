package cell

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// ID names the k-th record of a partition.
func ID(partition int32, k int64) string {
	return strconv.FormatInt(int64(partition), 10) + "." + strconv.FormatInt(k, 36)
}

// Noise is what a record holds that stands for nothing.
const Noise = "#"

// ParseID is the inverse of ID.
func ParseID(id string) (partition int32, k int64, err error) {
	head, tail, _ := strings.Cut(id, ".")
	p, err := strconv.ParseInt(head, 10, 32)
	if err == nil {
		k, err = strconv.ParseInt(tail, 36, 64)
	}
	if err != nil || ID(int32(p), k) != id {
		return 0, 0, fmt.Errorf("%q is not the id of a record", id)
	}
	return int32(p), k, nil
}

// Groups is how many groups the ids of a partition fall into.
const Groups = 61

// Group names the group of an id. It is of one partition, because states without an exchange need
// every key in a partition of its own.
func Group(id string) string {
	head, _, _ := strings.Cut(id, ".")
	return head + ":" + strconv.FormatUint(uint64(hash(id)%Groups), 10)
}

// Weight is what an id adds to its group.
func Weight(id string) int64 { return int64(hash(id)>>16) - 20_000 }

func hash(id string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return h.Sum32()
}
