package kafka_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/connectors/kafka"
	"github.com/selfregulating/sr/runtime/broker"
)

func reader(t testing.TB, b *kafka.Broker, cfg broker.ReaderConfig) broker.Reader {
	t.Helper()
	r, err := b.NewReader(cfg)
	must(t, err)
	t.Cleanup(r.Close)
	return r
}

func text(values ...string) []broker.Record {
	var out []broker.Record
	for _, v := range values {
		out = append(out, broker.Record{Key: []byte("k"), Value: []byte(v)})
	}
	return out
}

func TestReaderGoesOnAfterFetchErrors(t *testing.T) {
	for _, fault := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.KafkaStorageError, kerr.UnknownTopicOrPartition,
		kerr.UnknownTopicID, kerr.LeaderNotAvailable, kerr.UnknownServerError, kerr.OffsetOutOfRange,
	} {
		t.Run(fault.Message, func(t *testing.T) {
			c := fake(t, kfake.SeedTopics(1, "t"))
			f := newFeeder(t, c.ListenAddrs()...)
			f.produce(t, "t", 0, text("a", "b")...)
			h := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: fault, Count: 3})
			r := reader(t, open(t, kafka.Config{Seeds: c.ListenAddrs()}), broker.ReaderConfig{Topic: "t"})
			r.Seek(0, 0)
			if values, _ := drain(t, r, 2); fmt.Sprint(values) != "[a b]" {
				t.Fatalf("got %v", values)
			}
			if h.Hits() != 3 {
				t.Fatalf("the fault hit %d times, want 3", h.Hits())
			}
		})
	}
}

func TestReaderTellsAPassingFaultOnce(t *testing.T) {
	c := fake(t, kfake.SeedTopics(1, "t"))
	newFeeder(t, c.ListenAddrs()...).produce(t, "t", 0, text("a")...)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.KafkaStorageError, Count: 4})
	r := reader(t, open(t, kafka.Config{Seeds: c.ListenAddrs()}), broker.ReaderConfig{Topic: "t"})
	r.Seek(0, 0)
	told := 0
	for done := false; !done; {
		f, err := r.Poll(t.Context())
		must(t, err)
		for _, e := range f.Errors {
			if !e.Passing || !errors.Is(e.Err, kerr.KafkaStorageError) {
				t.Fatalf("got %+v", e)
			}
			told++
		}
		done = len(f.Chunks) > 0
		f.Release()
	}
	if told != 1 {
		t.Fatalf("a fault of four fetches was told %d times, want once", told)
	}
}

func TestReaderFollowsTheLeader(t *testing.T) {
	c := fake(t, kfake.NumBrokers(3), kfake.SeedTopics(4, "t"))
	f := newFeeder(t, c.ListenAddrs()...)
	r := reader(t, open(t, kafka.Config{Seeds: c.ListenAddrs()}), broker.ReaderConfig{Topic: "t"})
	r.Seek(2, 0)
	for i := range 6 {
		must(t, c.MoveTopicPartition("t", 2, int32(i%3)))
		f.produce(t, "t", 2, text(fmt.Sprint(i))...)
		values, next := drain(t, r, int64(i+1))
		if fmt.Sprint(values) != fmt.Sprintf("[%d]", i) || next != int64(i+1) {
			t.Fatalf("after move %d: got %v, next %d", i, values, next)
		}
	}
}

func TestReaderWithoutPermissionIsTold(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.Metadata} {
		t.Run(key.Name(), func(t *testing.T) {
			c := fake(t, kfake.SeedTopics(1, "t"))
			b := open(t, kafka.Config{Seeds: c.ListenAddrs()})
			c.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Topic: "t", Err: kerr.TopicAuthorizationFailed, Count: -1})
			r := reader(t, b, broker.ReaderConfig{Topic: "t"})
			r.Seek(0, 0)
			f, err := r.Poll(t.Context())
			must(t, err)
			if len(f.Errors) != 1 || f.Errors[0].Passing || !errors.Is(f.Errors[0].Err, broker.ErrNoPermission) {
				t.Fatalf("got %+v, want ErrNoPermission", f.Errors)
			}
		})
	}
}

// A compaction may leave nothing between the position and the end: no batch then says where to go on.
func TestReaderPassesAnEmptyTail(t *testing.T) {
	for _, committed := range []bool{false, true} {
		c := fake(t)
		f := newFeeder(t, c.ListenAddrs()...)
		f.create(t, "t", 2)
		f.produce(t, "t", 0, text("a", "b")...)
		hideRecordsFrom(c, 1)
		r := reader(t, open(t, kafka.Config{Seeds: c.ListenAddrs()}), broker.ReaderConfig{Topic: "t", ReadCommitted: committed})
		r.Seek(0, 1)
		if values, next := drain(t, r, 2); len(values) != 0 || next != 2 {
			t.Fatalf("got %v and position %d, want no records and 2", values, next)
		}
	}
}

// An answer that is silent because it is throttled, or because the data is in tiered storage, must
// not be taken for an empty tail.
func TestReaderDoesNotPassATailThatIsOnlySilent(t *testing.T) {
	for _, why := range []string{"throttled", "tiered"} {
		t.Run(why, func(t *testing.T) {
			c := fake(t)
			f := newFeeder(t, c.ListenAddrs()...)
			f.create(t, "t", 1)
			f.produce(t, "t", 0, text("a", "b")...)
			silent := silence(c, why)
			r := reader(t, open(t, kafka.Config{Seeds: c.ListenAddrs()}), broker.ReaderConfig{Topic: "t"})
			r.Seek(0, 0)
			if values, _ := drain(t, r, 2); fmt.Sprint(values) != "[a b]" {
				t.Fatalf("got %v, want both records", values)
			}
			if silent.Load() < 3 {
				t.Fatal("the broker was never silent")
			}
		})
	}
}

// hideRecordsFrom answers fetches at or after an offset as a log whose tail is gone would.
func hideRecordsFrom(c *kfake.Cluster, offset int64) {
	c.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		if req.Topics[0].Partitions[0].FetchOffset < offset || req.Topics[0].Partitions[0].FetchOffset >= 2 {
			return nil, nil, false
		}
		return emptyAnswer(req, 0), nil, true
	})
}

// silence answers the first three fetches without records.
func silence(c *kfake.Cluster, why string) *atomic.Int64 {
	var count atomic.Int64
	throttle := int32(0)
	if why == "throttled" {
		throttle = 1
	}
	c.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if count.Add(1) > 3 {
			return nil, nil, false
		}
		return emptyAnswer(kreq.(*kmsg.FetchRequest), throttle), nil, true
	})
	if why == "tiered" {
		c.ControlKey(int16(kmsg.ListOffsets), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			req := kreq.(*kmsg.ListOffsetsRequest)
			if req.Topics[0].Partitions[0].Timestamp != -4 {
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
			resp.Topics = []kmsg.ListOffsetsResponseTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsResponseTopicPartition{{Offset: 2}}}}
			return resp, nil, true
		})
	}
	return &count
}

func emptyAnswer(req *kmsg.FetchRequest, throttle int32) *kmsg.FetchResponse {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	resp.ThrottleMillis = throttle
	for _, t := range req.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.Partition, rp.HighWatermark, rp.LastStableOffset = p.Partition, 2, 2
			rp.RecordBatches = []byte{}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func TestReaderPassesACompactedRange(t *testing.T) {
	c := fake(t)
	f := newFeeder(t, c.ListenAddrs()...)
	f.create(t, "t", 1, "cleanup.policy", "compact", "segment.ms", "1")
	f.produce(t, "t", 0, broker.Record{Key: []byte("kept"), Value: []byte("0")})
	for i := range 4 {
		f.produce(t, "t", 0, text(fmt.Sprint(i+1))...)
		time.Sleep(2 * time.Millisecond) // each record in a segment of its own
	}
	c.Compact()
	r := reader(t, open(t, kafka.Config{Seeds: c.ListenAddrs()}), broker.ReaderConfig{Topic: "t"})
	r.Seek(0, 0)
	values, next := drain(t, r, 5)
	if len(values) == 5 || values[len(values)-1] != "4" || next != 5 {
		t.Fatalf("got %v and position %d, want a compacted log up to 4, and 5", values, next)
	}
}

// Two leaders may have fetched the same records: the old one before the leadership moved, while nobody
// polled, and the new one after it.
func TestReaderTakesRecordsOnceThoughTwoLeadersFetchedThem(t *testing.T) {
	c := fake(t, kfake.NumBrokers(2), kfake.SeedTopics(2, "t"))
	must(t, c.MoveTopicPartition("t", 0, 0))
	must(t, c.MoveTopicPartition("t", 1, 1))
	f := newFeeder(t, c.ListenAddrs()...)
	f.produce(t, "t", 0, text("a")...)
	r := reader(t, open(t, kafka.Config{Seeds: c.ListenAddrs()}), broker.ReaderConfig{Topic: "t", MaxWait: 20 * time.Millisecond})
	r.Seek(0, 0)
	r.Seek(1, 0)
	if values, _ := drain(t, r, 1); fmt.Sprint(values) != "[a]" {
		t.Fatalf("got %v", values)
	}
	byNew := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Nodes: []int32{1}, Observe: true, Count: -1, When: asksFor(0, 1)})
	byOld := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Nodes: []int32{0}, Observe: true, Count: -1})
	f.produce(t, "t", 0, text("b")...)
	awaitHaul(t, byOld)
	must(t, c.MoveTopicPartition("t", 0, 1))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Nodes: []int32{1}, Partitions: []int32{1}, Err: kerr.NotLeaderForPartition})
	eventually(t, "the new leader was asked for the same", func() bool { return byNew.Hits() > 0 })
	f.produce(t, "t", 0, text("c")...)
	if values, _ := drain(t, r, 3); fmt.Sprint(values) != "[b c]" {
		t.Fatalf("got %v, want each record once", values)
	}
}

// asksFor tells fetches of a partition at an offset.
func asksFor(partition int32, offset int64) func(kmsg.Request) bool {
	return func(kreq kmsg.Request) bool {
		for _, t := range kreq.(*kmsg.FetchRequest).Topics {
			for _, p := range t.Partitions {
				if p.Partition == partition && p.FetchOffset == offset {
					return true
				}
			}
		}
		return false
	}
}

// awaitHaul waits until a leader is not asked any more: what it delivered waits for a poll.
func awaitHaul(t testing.TB, fetches *kfake.FaultHandle) {
	t.Helper()
	eventually(t, "the leader has delivered, and is not asked again", func() bool {
		before := fetches.Hits()
		time.Sleep(100 * time.Millisecond)
		return fetches.Hits() == before
	})
}

func TestReaderHoldsBackWhatWasFetchedBeforeAPause(t *testing.T) {
	c := fake(t, kfake.SeedTopics(2, "t"))
	f := newFeeder(t, c.ListenAddrs()...)
	r := reader(t, open(t, kafka.Config{Seeds: c.ListenAddrs()}), broker.ReaderConfig{Topic: "t", MaxWait: 20 * time.Millisecond})
	fetches := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1})
	f.produce(t, "t", 0, text("a")...)
	r.Seek(0, 0)
	r.Seek(1, 0)
	drain(t, r, 1)
	f.produce(t, "t", 0, text("b")...)
	awaitHaul(t, fetches)
	r.Pause(0)
	f.produce(t, "t", 1, text("x")...)
	if values, _ := drain(t, r, 1); fmt.Sprint(values) != "[x]" {
		t.Fatalf("got %v while partition 0 is paused", values)
	}
	r.Resume(0)
	if values, _ := drain(t, r, 2); fmt.Sprint(values) != "[b]" {
		t.Fatalf("got %v after resuming", values)
	}
}
