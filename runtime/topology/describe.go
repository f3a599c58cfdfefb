package topology

import (
	"fmt"
)

// Description is a plan for people and for scripts: what sr plan prints.
type Description struct {
	Topology   string                 `json:"topology"`
	Signature  string                 `json:"signature"`
	Stages     []StageDescription     `json:"stages"`
	Exchanges  []ExchangeDescription  `json:"exchanges"`
	Tables     []TableDescription     `json:"tables"`
	Guarantees []GuaranteeDescription `json:"guarantees"`
	Warnings   []string               `json:"warnings"`
}

// StageDescription is a run of fused operators.
type StageDescription struct {
	Stage       string   `json:"stage"`
	Operators   []string `json:"operators"`
	Parallelism int      `json:"parallelism"`
	// Reads is the source topic, or the exchange that the stage reads.
	Reads string `json:"reads"`
	// SpoutKind is set on stages that read a source.
	SpoutKind string `json:"spout_kind,omitempty"`
	// Feeds are the operators whose state the stage's tuples go to.
	Feeds []string `json:"feeds"`
}

// ExchangeDescription is the topic between two stages.
type ExchangeDescription struct {
	Operator string `json:"operator"`
	// Topic has * for the 8 hex digits that each life of a topology has of its own.
	Topic    string `json:"topic"`
	Buckets  int    `json:"buckets"`
	Combined bool   `json:"combined"`
}

// TableDescription is the state of one operator.
type TableDescription struct {
	Operator string `json:"operator"`
	// View is what people query, Rows the table under it.
	View    string              `json:"view"`
	Rows    string              `json:"rows"`
	Kind    string              `json:"kind"`
	Folded  string              `json:"folded"` // "in sql" or "in memory"
	Columns []ColumnDescription `json:"columns"`
}

// ColumnDescription is one column of a view.
type ColumnDescription struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Is is "key", or the aggregate that the column holds.
	Is string `json:"is"`
}

// GuaranteeDescription is what is promised of one output.
type GuaranteeDescription struct {
	Output    string `json:"output"`
	Promise   string `json:"promise"`
	SpoutKind string `json:"spout_kind"`
	StateKind string `json:"state_kind"`
	Why       string `json:"why"`
	Cost      string `json:"cost"`
}

// Describe tells what the plan is. Its lists are never nil.
func (p *Plan) Describe() Description {
	d := Description{
		Topology: p.Name, Signature: fmt.Sprintf("%016x", p.Signature()),
		Stages: []StageDescription{}, Exchanges: []ExchangeDescription{}, Tables: []TableDescription{},
		Guarantees: []GuaranteeDescription{}, Warnings: append([]string{}, p.Warnings...),
	}
	seen := make(map[*Keyed]bool)
	for _, s := range p.Stages {
		d.Stages = append(d.Stages, p.describeStage(s))
		for _, e := range s.Outs {
			if seen[e.To] {
				continue
			}
			seen[e.To] = true
			d.Tables = append(d.Tables, p.describeTable(e.To))
			if !e.Direct {
				d.Exchanges = append(d.Exchanges, ExchangeDescription{
					Operator: string(e.To.Operator), Topic: p.exchangeTopic(e.To), Buckets: e.To.Buckets, Combined: e.To.Combine,
				})
			}
		}
	}
	for _, g := range p.Outputs {
		d.Guarantees = append(d.Guarantees, GuaranteeDescription{
			Output: g.Output, Promise: g.Promise, SpoutKind: g.Spout.String(), StateKind: string(g.State), Why: g.Why, Cost: g.Cost,
		})
	}
	return d
}

func (p *Plan) exchangeTopic(k *Keyed) string {
	return fmt.Sprintf("sr.%s.%s.*", p.Name, k.Operator)
}

func (p *Plan) describeStage(s *Stage) StageDescription {
	d := StageDescription{Stage: string(s.Operator), Operators: s.Operators, Parallelism: s.Parallelism, Feeds: []string{}}
	if s.Spout != nil {
		d.Reads, d.SpoutKind = s.Spout.Topic, s.Spout.Kind.String()
	} else {
		d.Reads = p.exchangeTopic(s.Keyed)
	}
	for _, e := range s.Outs {
		d.Feeds = append(d.Feeds, string(e.To.Operator))
	}
	return d
}

func (p *Plan) describeTable(k *Keyed) TableDescription {
	d := TableDescription{
		Operator: string(k.Operator), View: "public." + k.Table.View, Rows: "sr_state." + p.Name + "__" + string(k.Operator),
		Kind: string(k.Table.Kind), Folded: "in sql", Columns: []ColumnDescription{},
	}
	if k.Reduce != nil {
		d.Folded = "in memory"
	}
	for _, c := range k.Table.Keys {
		d.Columns = append(d.Columns, ColumnDescription{Name: c.Name, Type: string(c.Type), Is: "key"})
	}
	for _, v := range k.Table.Values {
		d.Columns = append(d.Columns, ColumnDescription{Name: v.Name, Type: string(v.Type), Is: string(v.Fold)})
	}
	return d
}
