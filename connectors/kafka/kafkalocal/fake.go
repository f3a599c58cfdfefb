package kafkalocal

import "github.com/twmb/franz-go/pkg/kfake"

// TB is the part of testing.TB that Fake needs; programs that use this package need not contain the testing package.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Fake runs a broker in memory inside this process until the test ends, and returns it with its address. Options
// given come after those of this package, and win.
func Fake(t TB, opts ...kfake.Opt) (*kfake.Cluster, string) {
	t.Helper()
	cluster, err := kfake.NewCluster(append(options(), opts...)...)
	if err != nil {
		t.Fatalf("starting Kafka for the test: %v", err)
	}
	t.Cleanup(cluster.Close)
	return cluster, cluster.ListenAddrs()[0]
}
