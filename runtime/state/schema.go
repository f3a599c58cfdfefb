package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is the rule that the rows of a state follow.
type Kind string

// The kinds of state. Auto is for the plan to resolve: the cheapest kind that is exact there.
const (
	Auto             Kind = "auto"
	NonTransactional Kind = "non-transactional"
	Transactional    Kind = "transactional"
	Opaque           Kind = "opaque"
)

// ColumnType is the type of a key or value column, in Postgres's words.
type ColumnType string

// The column types. Keys may not be jsonb, because one value has many spellings and so many buckets;
// values may not be boolean, because nothing folds them.
const (
	Bigint  ColumnType = "bigint"
	Double  ColumnType = "double"
	Numeric ColumnType = "numeric"
	Text    ColumnType = "text"
	JSONB   ColumnType = "jsonb"
	Boolean ColumnType = "boolean"
)

// Fold is how a batch's value enters the stored one.
type Fold string

// The folds. All but FoldReduce are done by the store, without reading the row first.
const (
	FoldCount  Fold = "count"
	FoldSum    Fold = "sum"
	FoldMin    Fold = "min"
	FoldMax    Fold = "max"
	FoldAvg    Fold = "avg"
	FoldReduce Fold = "reduce"
)

// Column is a key column.
type Column struct {
	Name string
	Type ColumnType
}

// Aggregate is a value column: the result of a fold.
type Aggregate struct {
	Name string
	Fold Fold
	Type ColumnType
}

// Table describes the rows of one operator's state, and the view that people query.
type Table struct {
	// Operator names the rows.
	Operator string
	// View is the name of the view over keys and values; empty makes none.
	View string
	// Keys are the grouping columns, in order; none for an ungrouped aggregate, which is one row.
	Keys []Column
	// Values are the aggregates, in order; at least one.
	Values []Aggregate
	// Kind is the rule of the rows; empty means Auto.
	Kind Kind
	// Buckets is how many buckets the rows are cut into; at least 1, fixed for the operator's life.
	Buckets int
}

const (
	maxName    = 63      // bytes of a Postgres identifier; a longer one is cut off without a word
	prevPrefix = "prev_" // of the columns that hold the values before the last batch
)

// reserved are the columns of a state table that are not the user's, and those that every table of
// Postgres has already.
var reserved = []string{"bucket", "txid", "tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"}

// foldTypes are the types that the result of a fold may have.
var foldTypes = map[Fold][]ColumnType{
	FoldCount:  {Bigint},
	FoldSum:    {Bigint, Double, Numeric},
	FoldMin:    {Bigint, Double, Numeric, Text},
	FoldMax:    {Bigint, Double, Numeric, Text},
	FoldAvg:    {Double, Numeric},
	FoldReduce: {Bigint, Double, Numeric, Text, JSONB},
}

var (
	kinds    = []Kind{"", Auto, NonTransactional, Transactional, Opaque}
	keyTypes = []ColumnType{Bigint, Double, Numeric, Text, Boolean}
)

// Validate answers with the first thing wrong with the table, in one sentence.
func (t Table) Validate() error {
	if err := checkName(t.Operator, maxName); err != nil {
		return fmt.Errorf("operator %q: %w", t.Operator, err)
	}
	if err := t.validateSelf(); err != nil {
		return fmt.Errorf("table of operator %s: %w", t.Operator, err)
	}
	return nil
}

func (t Table) validateSelf() error {
	if t.View != "" {
		if err := checkName(t.View, maxName); err != nil {
			return fmt.Errorf("view %q: %w", t.View, err)
		}
	}
	if !slices.Contains(kinds, t.Kind) {
		return fmt.Errorf("kind %q is unknown; it is one of %s", t.Kind, list(kinds[1:]))
	}
	if t.Buckets < 1 {
		return fmt.Errorf("buckets is %d; it must be at least 1", t.Buckets)
	}
	if len(t.Values) == 0 {
		return errors.New("there is no value column; name at least one aggregate")
	}
	return t.validateColumns()
}

func (t Table) validateColumns() error {
	seen := make(map[string]bool)
	for _, c := range t.Keys {
		if err := c.validate(seen); err != nil {
			return fmt.Errorf("key column %q: %w", c.Name, err)
		}
	}
	for _, a := range t.Values {
		if err := a.validate(seen); err != nil {
			return fmt.Errorf("value column %q: %w", a.Name, err)
		}
	}
	return nil
}

func (c Column) validate(seen map[string]bool) error {
	if err := checkColumn(c.Name, maxName, seen); err != nil {
		return err
	}
	if !slices.Contains(keyTypes, c.Type) {
		return fmt.Errorf("type %q cannot be a key; it is one of %s", c.Type, list(keyTypes))
	}
	return nil
}

func (a Aggregate) validate(seen map[string]bool) error {
	// The column of the value before carries the prefix too, and must not be cut off.
	if err := checkColumn(a.Name, maxName-len(prevPrefix), seen); err != nil {
		return err
	}
	types, known := foldTypes[a.Fold]
	if !known {
		return fmt.Errorf("fold %q is unknown; it is one of count, sum, min, max, avg, reduce", a.Fold)
	}
	if !slices.Contains(types, a.Type) {
		return fmt.Errorf("%s cannot be of type %q; it is one of %s", a.Fold, a.Type, list(types))
	}
	return nil
}

func checkColumn(name string, limit int, seen map[string]bool) error {
	if err := checkName(name, limit); err != nil {
		return err
	}
	if slices.Contains(reserved, name) {
		return errors.New("the name is reserved; choose another")
	}
	if strings.HasPrefix(name, prevPrefix) {
		return fmt.Errorf("names that begin with %s are reserved; choose another", prevPrefix)
	}
	if seen[name] {
		return errors.New("the name is used twice; columns need names of their own")
	}
	seen[name] = true
	return nil
}

func checkName(name string, limit int) error {
	if name == "" {
		return errors.New("the name is empty")
	}
	if len(name) > limit {
		return fmt.Errorf("the name has %d bytes; at most %d fit", len(name), limit)
	}
	for _, r := range name {
		if !nameRune(r) {
			return fmt.Errorf("the name holds %q; it may hold letters (a to z, A to Z), digits and underscores", r)
		}
	}
	return nil
}

func nameRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

func list[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}
