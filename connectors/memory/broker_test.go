package memory_test

import (
	"testing"

	"github.com/selfregulating/sr/connectors/memory"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/broker/brokertest"
)

func TestBrokerPassesTheSuite(t *testing.T) {
	brokertest.Run(t, func(*testing.T) brokertest.Harness {
		b := memory.NewBroker()
		return brokertest.Harness{
			Broker: b,
			Create: func(t testing.TB, topic string, partitions int) { must(t, b.CreateTopic(topic, partitions)) },
			Grow:   func(t testing.TB, topic string, partitions int) { must(t, b.Grow(topic, partitions)) },
			Produce: func(t testing.TB, topic string, partition int32, records ...broker.Record) {
				must(t, b.Produce(topic, partition, records...))
			},
			Begin: func(testing.TB) brokertest.Txn { return txn{b.Begin()} },
		}
	})
}

type txn struct{ *memory.Txn }

func (x txn) Produce(t testing.TB, topic string, partition int32, records ...broker.Record) {
	must(t, x.Txn.Produce(topic, partition, records...))
}

func (x txn) Commit(testing.TB) { x.Txn.Commit() }
func (x txn) Abort(testing.TB)  { x.Txn.Abort() }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCompactionLeavesGapsAndThePositionPassesThem(t *testing.T) {
	b := memory.NewBroker()
	must(t, b.CreateTopic("t", 1))
	must(t, b.Produce("t", 0, broker.Record{Value: []byte("a")}, broker.Record{Value: []byte("b")}, broker.Record{Value: []byte("c")}))
	must(t, b.Compact("t", 0, func(r broker.Record) bool { return string(r.Value) == "b" }))
	r, err := b.NewReader(broker.ReaderConfig{Topic: "t"})
	must(t, err)
	r.Seek(0, 0)
	f, err := r.Poll(t.Context())
	must(t, err)
	if c := f.Chunks[0]; len(c.Records) != 1 || c.Records[0].Offset != 1 || c.Next != 3 {
		t.Fatalf("got %d records and next offset %d, want the record at 1 and next offset 3", len(c.Records), c.Next)
	}
}
