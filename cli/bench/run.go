package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Report is what a run measured.
type Report struct {
	Distribution Distribution `json:"distribution"`
	Records      int64        `json:"records"`
	Distinct     int          `json:"distinct_words"`
	Partitions   int          `json:"partitions"`
	Buckets      int          `json:"buckets"`
	Micro        Micro        `json:"micro"`
	Loop1        *Loop        `json:"loop1,omitempty"`
	Loop2        *Loop        `json:"loop2,omitempty"`
	SR           SR           `json:"sr"`
	// OverLoop1 and OverLoop2 are sr's rate over the plain loops'.
	OverLoop1 float64 `json:"sr_over_loop1,omitempty"`
	OverLoop2 float64 `json:"sr_over_loop2,omitempty"`
	Light     *Light  `json:"light,omitempty"`
}

// SR is what the topology reached, between the first and the last tenth of the records.
type SR struct {
	Records    int64   `json:"records"`
	Seconds    float64 `json:"seconds"`
	RecordRate float64 `json:"records_per_second"`
	// CPU in microseconds a record: of sr, of the broker and of Postgres; the latter two 0 if not ours.
	CPU         float64 `json:"cpu_micros_per_record"`
	CPUKafka    float64 `json:"kafka_cpu_micros_per_record"`
	CPUPostgres float64 `json:"postgres_cpu_micros_per_record"`
	// Stale is the age of the oldest record that was consumed and not visible, in seconds, sampled by an
	// independent reader.
	StaleMedian float64 `json:"stale_median_seconds"`
	StaleP99    float64 `json:"stale_p99_seconds"`
	StaleMax    float64 `json:"stale_max_seconds"`
	PeakMemory  int64   `json:"peak_memory_bytes"`
	// Words and Rows are what the table holds in the end; Exact compares them with the plain loop's.
	Words int64 `json:"words"`
	Rows  int64 `json:"rows"`
	Exact *bool `json:"exact,omitempty"`
}

// Run fills a topic and measures. progress takes a name and a share from 0 to 1.
func Run(ctx context.Context, c Config, progress func(doing string, share float64)) (*Report, error) {
	if err := c.defaults(); err != nil {
		return nil, err
	}
	text, err := NewText(c.Distribution, c.Distinct, c.Bytes, c.Seed)
	if err != nil {
		return nil, err
	}
	r := &Report{Distribution: c.Distribution, Records: c.Records, Distinct: c.Distinct, Partitions: c.Partitions, Buckets: c.Buckets}
	progress("splitting and counting in memory", 0)
	if r.Micro, err = micro(text, c.Buckets); err != nil {
		return nil, err
	}
	s, err := startServers(ctx, &c)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	if err := makeTopic(ctx, s.kafka, c.Topic, c.Partitions); err != nil {
		return nil, err
	}
	defer func() { _ = dropTopic(context.WithoutCancel(ctx), s.kafka, c.Topic) }()
	if err := fill(ctx, s.kafka, c.Topic, c.Partitions, c.Records, text, func(n int64) {
		progress("filling the topic", float64(n)/float64(c.Records))
	}); err != nil {
		return nil, err
	}
	if c.Loops {
		progress("plain loop, one processor", 0)
		if r.Loop1, err = loop(ctx, s.kafka, c.Topic, c.Partitions, 1, c.Records); err != nil {
			return nil, err
		}
		progress("plain loop, two counting goroutines", 0)
		if r.Loop2, err = loop(ctx, s.kafka, c.Topic, c.Partitions, 2, c.Records); err != nil {
			return nil, err
		}
	}
	if err := r.measure(ctx, &c, s, progress); err != nil {
		return nil, err
	}
	if c.Light > 0 {
		if r.Light, err = light(ctx, &c, s, text, progress); err != nil {
			return nil, err
		}
	}
	if len(c.Kafka) > 0 || c.Postgres != "" {
		err = cleanUp(ctx, s.postgres)
	}
	return r, err
}

const sampleEvery = 100 * time.Millisecond

// measure runs the topology over the whole topic.
func (r *Report) measure(ctx context.Context, c *Config, s *servers, progress func(string, float64)) error {
	n, err := startNode(c, s, true)
	if err != nil {
		return err
	}
	m, err := follow(ctx, n, c, s, progress)
	if err != nil {
		n.kill()
		return err
	}
	r.SR = m.result()
	if err := r.compare(ctx, s.postgres); err != nil {
		return err
	}
	if r.Loop1 != nil {
		r.OverLoop1 = r.SR.RecordRate / r.Loop1.RecordRate
		r.OverLoop2 = r.SR.RecordRate / r.Loop2.RecordRate
	}
	return nil
}

// measurement is what is known of a node's run.
type measurement struct {
	begun, ended   *instant
	stale          []float64
	peak           int64
	kafka, pgKnown bool
}

// instant is a moment with all that was used until then.
type instant struct {
	reading       reading
	sr, kafka, pg usage
}

func takeInstant(n *node, s *servers, r reading) *instant {
	i := &instant{reading: r}
	i.sr, _ = processUsage(n.pid(), false)
	i.kafka, _ = processUsage(s.kafkaPID, false)
	i.pg, _ = processUsage(s.pgPID, true)
	return i
}

// follow samples the node until it has ended.
func follow(ctx context.Context, n *node, c *Config, s *servers, progress func(string, float64)) (*measurement, error) {
	m := &measurement{kafka: s.kafkaPID != 0, pgKnown: s.pgPID != 0}
	var w *watch
	var before reading
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-n.ended:
			if err != nil {
				return nil, fmt.Errorf("sr run ended: %w", err)
			}
			if m.ended == nil {
				return nil, fmt.Errorf("sr run ended before it could be measured; give more records")
			}
			return m, nil
		case <-tick.C:
		}
		r, ok := n.read(ctx)
		if !ok || r.records == 0 {
			continue
		}
		if w == nil {
			var err error
			if w, err = newWatch(ctx, s.postgres, c.Buckets); err != nil {
				return nil, err
			}
			defer w.conn.Close(context.WithoutCancel(ctx))
		}
		w.consumed(before, r)
		before = r
		if err := w.look(ctx); err != nil {
			return nil, err
		}
		progress("running the topology", float64(r.records)/float64(c.Records))
		if u, ok := processUsage(n.pid(), false); ok {
			m.peak = max(m.peak, u.peak)
		}
		switch {
		case m.begun == nil && r.records >= c.Records/10:
			m.begun = takeInstant(n, s, r)
			w.stale = nil
		case m.begun != nil && m.ended == nil && r.records >= c.Records*9/10:
			m.ended = takeInstant(n, s, r)
			m.stale = w.stale
		}
	}
}

func (m *measurement) result() SR {
	records := m.ended.reading.records - m.begun.reading.records
	seconds := m.ended.reading.at.Sub(m.begun.reading.at).Seconds()
	per := func(a, b usage, known bool) float64 {
		if !known {
			return 0
		}
		return (b.cpu - a.cpu).Seconds() * 1e6 / float64(records)
	}
	return SR{
		Records: records, Seconds: seconds, RecordRate: float64(records) / seconds,
		CPU:         per(m.begun.sr, m.ended.sr, true),
		CPUKafka:    per(m.begun.kafka, m.ended.kafka, m.kafka),
		CPUPostgres: per(m.begun.pg, m.ended.pg, m.pgKnown),
		StaleMedian: quantile(m.stale, 0.5), StaleP99: quantile(m.stale, 0.99), StaleMax: quantile(m.stale, 1),
		PeakMemory: m.peak,
	}
}

// compare holds the table against the words that a plain loop counted.
func (r *Report) compare(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connecting to Postgres: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := conn.QueryRow(ctx, "SELECT coalesce(sum(count), 0)::bigint, count(*) FROM public.sr_bench_counts").Scan(&r.SR.Words, &r.SR.Rows); err != nil {
		return fmt.Errorf("reading the counts: %w", err)
	}
	if r.Loop1 != nil {
		exact := r.SR.Words == r.Loop1.Words
		r.SR.Exact = &exact
	}
	return nil
}

// quantile of a list, q from 0 to 1; 0 of an empty one.
func quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
