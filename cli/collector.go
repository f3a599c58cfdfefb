package cli

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/selfregulating/sr/runtime/vitals"
)

// collector reads the vitals of a container when it is asked, so that counting costs the loops nothing.
type collector struct {
	topology string
	vitals   *vitals.Container
}

func newCollector(topology string, v *vitals.Container) *collector { return &collector{topology, v} }

// metric is one family: how it is read from an instance. ok is false where the value is unknown.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*vitals.Instance) (value float64, ok bool)
}

// labels of every metric.
var labels = []string{"topology", "operator", "instance"}

var metrics = []metric{
	counter("sr_records_total", "Records read from a source, or blocks read from an exchange.", func(i *vitals.Instance) int64 { return i.Records.Load() }),
	counter("sr_tuples_total", "Tuples that the records or blocks stood for.", func(i *vitals.Instance) int64 { return i.Tuples.Load() }),
	counter("sr_bytes_total", "Bytes read.", func(i *vitals.Instance) int64 { return i.Bytes.Load() }),
	counter("sr_batches_total", "Batches committed.", func(i *vitals.Instance) int64 { return i.Batches.Load() }),
	counter("sr_rows_total", "Rows of state written.", func(i *vitals.Instance) int64 { return i.Rows.Load() }),
	counter("sr_blocks_total", "Blocks produced.", func(i *vitals.Instance) int64 { return i.Blocks.Load() }),
	counter("sr_entries_total", "Entries of the blocks produced.", func(i *vitals.Instance) int64 { return i.Entries.Load() }),
	counter("sr_reloads_total", "Reloads after a batch that was lost, unknown or failed.", func(i *vitals.Instance) int64 { return i.Reloads.Load() }),
	counter("sr_dead_letters_total", "Records that could not be processed, written to sr.dead_letter.", func(i *vitals.Instance) int64 { return i.DeadLetters.Load() }),
	counter("sr_duplicate_blocks_total", "Blocks dropped because they were applied before.", func(i *vitals.Instance) int64 { return i.Duplicate.Load() }),
	counter("sr_garbage_blocks_total", "Blocks dropped because their writer ended without deciding for them.", func(i *vitals.Instance) int64 { return i.Garbage.Load() }),
	counter("sr_orphaned_blocks_total", "Blocks dropped because their writer is unknown.", func(i *vitals.Instance) int64 { return i.Orphaned.Load() }),
	counter("sr_skipped_offsets_total", "Offsets that an out-of-range policy jumped over.", func(i *vitals.Instance) int64 { return i.SkippedOffsets.Load() }),
	seconds("sr_commit_seconds_total", "Time spent in commits.", func(i *vitals.Instance) int64 { return i.CommitNanos.Load() }),
	seconds("sr_produce_seconds_total", "Time spent waiting for blocks to be acknowledged.", func(i *vitals.Instance) int64 { return i.ProduceNanos.Load() }),
	seconds("sr_held_seconds_total", "Time spent held by a stage behind.", func(i *vitals.Instance) int64 { return i.HeldNanos.Load() }),
	gauge("sr_pending_bytes", "Bytes in memory that are not committed yet.", func(i *vitals.Instance) (float64, bool) {
		return float64(i.PendingBytes.Load()), true
	}),
	gauge("sr_behind_records", "Records of the source that are not read yet; absent while unknown.", func(i *vitals.Instance) (float64, bool) {
		behind := i.Behind.Load()
		return float64(behind), behind >= 0
	}),
	gauge("sr_oldest_uncommitted_seconds", "Age of the oldest tuple that is read and not committed; 0 if none is.", func(i *vitals.Instance) (float64, bool) {
		read := i.OldestNanos.Load()
		if read == 0 {
			return 0, true
		}
		return max(0, time.Since(time.Unix(0, read)).Seconds()), true
	}),
}

func counter(name, help string, read func(*vitals.Instance) int64) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue, func(i *vitals.Instance) (float64, bool) {
		return float64(read(i)), true
	}}
}

func seconds(name, help string, nanos func(*vitals.Instance) int64) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue, func(i *vitals.Instance) (float64, bool) {
		return time.Duration(nanos(i)).Seconds(), true
	}}
}

func gauge(name, help string, read func(*vitals.Instance) (float64, bool)) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue, read}
}

// position is the one family that is told by partition.
var position = prometheus.NewDesc("sr_position", "Next source offset to gather: what is below it was consumed, but perhaps not committed.",
	append(labels, "partition"), nil)

// Describe is of prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, m := range metrics {
		descs <- m.desc
	}
	descs <- position
}

// Collect is of prometheus.Collector.
func (c *collector) Collect(values chan<- prometheus.Metric) {
	for _, i := range c.vitals.Instances() {
		for _, m := range metrics {
			if v, ok := m.read(i); ok {
				values <- prometheus.MustNewConstMetric(m.desc, m.kind, v, c.topology, string(i.Operator), strconv.Itoa(i.Index))
			}
		}
		for p, at := range i.Positions() {
			values <- prometheus.MustNewConstMetric(position, prometheus.GaugeValue, float64(at),
				c.topology, string(i.Operator), strconv.Itoa(i.Index), strconv.Itoa(int(p)))
		}
	}
}
