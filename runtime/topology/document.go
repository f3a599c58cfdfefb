package topology

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/selfregulating/sr/runtime/state"
)

// document is a topology file as written: names are not resolved, expressions not compiled.
type document struct {
	name      string
	nameAt    place
	kafka     *KafkaSettings
	spouts    []spoutEntry
	operators []operatorEntry
}

// spoutEntry is one entry of spouts.
type spoutEntry struct {
	name      string
	at        place
	isMapping bool
	config    Kafka
	// topicGiven tells that topic is there, right or wrong.
	topicGiven bool
	decode     string
	// fields are those of fields: or columns:, in order.
	fields     []rowField
	fieldsKey  *yaml.Node
	fieldsName string
	delimiter  string
}

// operatorEntry is one entry of operators.
type operatorEntry struct {
	name      string
	at        place
	isMapping bool
	from      []*yaml.Node
	// filter, maps and so on are set for the operation that the entry is.
	filter     *yaml.Node
	maps       *yaml.Node
	flatMap    *yaml.Node
	as         *yaml.Node
	groupBy    []*yaml.Node
	groupByAt  *yaml.Node
	aggregates *yaml.Node
	state      StateConfig
	// stateKeys are the keys of the entry that only a state may have.
	stateKeys []*yaml.Node
}

// topology reads the root of a file.
func (r *reader) topology(root *yaml.Node) *document {
	d := &document{nameAt: where(root)}
	r.mapping(root, "the topology",
		keyReader{"topology", func(n *yaml.Node) { d.nameAt = where(n); r.text(&d.name, "topology")(n) }},
		keyReader{"kafka", func(n *yaml.Node) { d.kafka = r.kafka(n) }},
		keyReader{"spouts", func(n *yaml.Node) {
			for _, e := range r.entries(n, "spouts") {
				d.spouts = append(d.spouts, r.spout(e))
			}
		}},
		keyReader{"operators", func(n *yaml.Node) {
			for _, e := range r.entries(n, "operators") {
				d.operators = append(d.operators, r.operator(e))
			}
		}},
	)
	return d
}

func (r *reader) kafka(n *yaml.Node) *KafkaSettings {
	k := &KafkaSettings{}
	r.mapping(n, "kafka",
		keyReader{"tls", func(n *yaml.Node) {
			t := &TLSSettings{}
			k.TLS = t
			r.mapping(n, "tls",
				keyReader{"caFile", r.text(&t.CAFile, "caFile")},
				keyReader{"certFile", r.text(&t.CertFile, "certFile")},
				keyReader{"keyFile", r.text(&t.KeyFile, "keyFile")},
				keyReader{"serverName", r.text(&t.ServerName, "serverName")},
				keyReader{"insecure", r.flag(&t.Insecure, "insecure")},
			)
			if (t.CertFile == "") != (t.KeyFile == "") {
				r.add(where(n), "certFile and keyFile belong together; give both or neither")
			}
		}},
		keyReader{"sasl", func(n *yaml.Node) {
			s := &SASLSettings{}
			k.SASL = s
			r.mapping(n, "sasl",
				keyReader{"mechanism", func(n *yaml.Node) { s.Mechanism, _ = r.oneOf(n, "mechanism", mechanisms) }},
				keyReader{"user", r.text(&s.User, "user")},
				keyReader{"passwordFile", r.text(&s.PasswordFile, "passwordFile")},
			)
			for _, need := range []struct{ key, value string }{{"mechanism", s.Mechanism}, {"user", s.User}, {"passwordFile", s.PasswordFile}} {
				if need.value == "" {
					r.add(where(n), "sasl needs mechanism, user and passwordFile; %s is missing", need.key)
				}
			}
		}},
	)
	return k
}

var (
	spoutKinds = []string{Opaque.String(), Transactional.String(), AtLeastOnce.String(), AtMostOnce.String()}
	decoders   = []string{"text", "json", "csv"}
	promises   = []string{string(ExactlyOnce), string(AtLeast), string(AtMost), string(NoPromise)}
	stateKinds = []string{string(state.Auto), string(state.Opaque), string(state.Transactional), string(state.NonTransactional)}
)

func (r *reader) spout(e entry) spoutEntry {
	s := spoutEntry{name: e.key.Value, at: where(e.key), isMapping: e.value.Kind == yaml.MappingNode, decode: "text"}
	committed, retries := true, DefaultRetries
	r.mapping(e.value, "spout "+clip(s.name),
		keyReader{"topic", func(n *yaml.Node) { s.topicGiven = true; r.text(&s.config.Topic, "topic")(n) }},
		keyReader{"kind", func(n *yaml.Node) {
			if word, ok := r.oneOf(n, "kind", spoutKinds); ok {
				s.config.Kind = kindNamed(word)
			}
		}},
		keyReader{"decode", func(n *yaml.Node) {
			if word, ok := r.oneOf(n, "decode", decoders); ok {
				s.decode = word
			}
		}},
		keyReader{"fields", func(n *yaml.Node) { r.fields(&s, "fields", n) }},
		keyReader{"columns", func(n *yaml.Node) { r.fields(&s, "columns", n) }},
		keyReader{"delimiter", r.text(&s.delimiter, "delimiter")},
		keyReader{"start", func(n *yaml.Node) { s.config.Start = r.start(n, "start", "earliest, latest") }},
		keyReader{"outOfRange", func(n *yaml.Node) { s.config.OutOfRange = r.outOfRange(n) }},
		keyReader{"readCommitted", r.flag(&committed, "readCommitted")},
		keyReader{"retries", r.number(&retries, "retries", 0, maxRetries)},
		keyReader{"parallelism", r.number(&s.config.Parallelism, "parallelism", 1, maxParallelism)},
	)
	s.config.ReadUncommitted = !committed
	if s.config.Retries = retries; retries == 0 {
		s.config.Retries = -1
	}
	return s
}

func kindNamed(word string) SpoutKind {
	for kind := Opaque; kind < AtMostOnce; kind++ {
		if kind.String() == word {
			return kind
		}
	}
	return AtMostOnce
}

// start reads earliest, latest, or a time.
func (r *reader) start(n *yaml.Node, what, words string) Start {
	s, ok := r.scalar(n, what)
	switch t, err := time.Parse(time.RFC3339, s); {
	case !ok || s == "earliest":
	case s == "latest":
		return Start{At: AtLatest}
	case err != nil:
		r.add(where(n), "%s is %s; it must be %s, or a time like 2026-01-31T12:00:00Z", what, clip(s), words)
	default:
		return Start{At: AtTime, Time: t.UTC()}
	}
	return Start{}
}

func (r *reader) outOfRange(n *yaml.Node) RangePolicy {
	if n.Value == "stop" {
		return RangePolicy{}
	}
	return RangePolicy{Skip: true, To: r.start(n, "outOfRange", "stop, earliest, latest")}
}

// operator reads an entry of operators.
func (r *reader) operator(e entry) operatorEntry {
	o := operatorEntry{name: e.key.Value, at: where(e.key), isMapping: e.value.Kind == yaml.MappingNode}
	combine, fromGiven := true, false
	keep := func(into **yaml.Node) func(*yaml.Node) { return func(n *yaml.Node) { *into = n } }
	kept := func(read func(*yaml.Node)) func(*yaml.Node) {
		return func(n *yaml.Node) { o.stateKeys = append(o.stateKeys, n); read(n) }
	}
	r.mapping(e.value, "operator "+clip(o.name),
		keyReader{"from", func(n *yaml.Node) { fromGiven, o.from = true, r.words(n, "from") }},
		keyReader{"filter", keep(&o.filter)},
		keyReader{"map", keep(&o.maps)},
		keyReader{"flatMap", keep(&o.flatMap)},
		keyReader{"as", keep(&o.as)},
		keyReader{"groupBy", func(n *yaml.Node) { o.groupByAt, o.groupBy = n, r.words(n, "groupBy") }},
		keyReader{"persistentAggregate", keep(&o.aggregates)},
		keyReader{"table", kept(r.text(&o.state.Table, "table"))},
		keyReader{"kind", kept(func(n *yaml.Node) {
			word, _ := r.oneOf(n, "kind", stateKinds)
			o.state.Kind = state.Kind(word)
		})},
		keyReader{"guarantee", kept(func(n *yaml.Node) {
			word, _ := r.oneOf(n, "guarantee", promises)
			o.state.Guarantee = Promise(word)
		})},
		keyReader{"parallelism", kept(r.number(&o.state.Parallelism, "parallelism", 1, maxParallelism))},
		keyReader{"buckets", kept(r.number(&o.state.Buckets, "buckets", 1, maxBuckets))},
		keyReader{"combine", kept(r.flag(&combine, "combine"))},
		keyReader{"partitionedByKey", kept(r.flag(&o.state.PartitionedByKey, "partitionedByKey"))},
	)
	o.state.CombineOff = !combine
	if !fromGiven && o.isMapping {
		r.add(o.at, "operator %s: from is missing; name the spout or operator that it reads", clip(o.name))
	}
	return o
}
