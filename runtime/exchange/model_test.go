package exchange

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is what a table should hold, the plain way: per bucket and key all values of each cell.
type model struct {
	shape   *Shape
	buckets []map[string][][]Cell // cells by key and tuple
	order   [][]string            // keys in order of arrival
}

func newModel(shape *Shape, buckets int) *model {
	m := &model{shape: shape, buckets: make([]map[string][][]Cell, buckets), order: make([][]string, buckets)}
	for i := range m.buckets {
		m.buckets[i] = map[string][][]Cell{}
	}
	return m
}

type modelTuple struct {
	bucket int
	key    []byte
	cells  []Cell
}

func (m *model) add(tuples []modelTuple) {
	for _, t := range tuples {
		m.buckets[t.bucket][string(t.key)] = append(m.buckets[t.bucket][string(t.key)], t.cells)
		m.order[t.bucket] = append(m.order[t.bucket], string(t.key))
	}
}

// entries renders a bucket: sorted lines with combining, lines in order of arrival without.
func (m *model) entries(bucket int) []string {
	var lines []string
	if m.shape.Combine() {
		for key, tuples := range m.buckets[bucket] {
			lines = append(lines, m.line(key, tuples))
		}
		slices.Sort(lines)
		return lines
	}
	seen := map[string]int{}
	for _, key := range m.order[bucket] {
		lines = append(lines, m.line(key, m.buckets[bucket][key][seen[key]:][:1]))
		seen[key]++
	}
	return lines
}

func (m *model) line(key string, tuples [][]Cell) string {
	line := fmt.Sprintf("%x", key)
	for i, kind := range m.shape.Layout() {
		var values []Cell
		for _, cells := range tuples {
			if !cells[i].null {
				values = append(values, cells[i])
			}
		}
		line += "|" + combineAll(kind, values)
	}
	return line
}

func combineAll(kind CellKind, values []Cell) string {
	if len(values) == 0 {
		return "null"
	}
	least := func(compare func(a, b Cell) int) Cell { return slices.MinFunc(values, compare) }
	byInt := func(a, b Cell) int { return compareValues(int64(a.bits), int64(b.bits)) }
	byFloat := func(a, b Cell) int {
		return compareValues(math.Float64frombits(a.bits), math.Float64frombits(b.bits))
	}
	byCents := func(a, b Cell) int { return compareValues(cents(a), cents(b)) }
	byText := func(a, b Cell) int { return strings.Compare(string(a.text), string(b.text)) }
	opposite := func(compare func(a, b Cell) int) func(a, b Cell) int {
		return func(a, b Cell) int { return compare(b, a) }
	}
	switch kind.base() {
	case AddInt:
		sum := int64(0)
		for _, v := range values {
			sum += int64(v.bits)
		}
		return fmt.Sprint(sum)
	case AddFloat:
		sum := 0.0
		for _, v := range values {
			sum += math.Float64frombits(v.bits)
		}
		return fmt.Sprint(sum)
	case AddNumeric:
		sum := int64(0)
		for _, v := range values {
			sum += cents(v)
		}
		return formatCents(sum)
	case MinInt:
		return fmt.Sprint(int64(least(byInt).bits))
	case MaxInt:
		return fmt.Sprint(int64(least(opposite(byInt)).bits))
	case MinFloat:
		return fmt.Sprint(math.Float64frombits(least(byFloat).bits))
	case MaxFloat:
		return fmt.Sprint(math.Float64frombits(least(opposite(byFloat)).bits))
	case MinNumeric:
		return string(least(byCents).text)
	case MaxNumeric:
		return string(least(opposite(byCents)).text)
	case MinText:
		return string(least(byText).text)
	case MaxText:
		return string(least(opposite(byText)).text)
	}
	return string(values[0].text)
}

func formatCents(c int64) string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}

func cents(c Cell) int64 {
	digits := strings.Replace(string(c.text), ".", "", 1)
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		panic(err)
	}
	return v
}

// render gives the entries of a table as model.entries does.
func render(b *BucketTable) []string {
	var lines []string
	for e := range b.All() {
		lines = append(lines, renderEntry(e))
	}
	if b.shape.Combine() {
		slices.Sort(lines)
	}
	return lines
}

func renderEntry(e *Entry) string {
	line := fmt.Sprintf("%x", e.Key)
	for i, kind := range e.shape.Layout() {
		switch {
		case e.Null(i):
			line += "|null"
		case kind.variable():
			line += "|" + string(e.Bytes(i))
		case kind.float():
			line += "|" + fmt.Sprint(e.Float(i))
		default:
			line += "|" + fmt.Sprint(e.Int(i))
		}
	}
	return line
}

func drawShape(t *rapid.T) *Shape {
	combine := rapid.Bool().Draw(t, "combine")
	last := MaxText
	if !combine {
		last = Tuple
	}
	kind := rapid.Custom(func(t *rapid.T) CellKind {
		k := rapid.Uint8Range(uint8(AddInt), uint8(last)).Draw(t, "kind")
		if rapid.IntRange(0, 3).Draw(t, "nullable") == 0 {
			k |= uint8(Nullable)
		}
		return CellKind(k)
	})
	layout := rapid.OneOf(
		rapid.Just([]CellKind{AddInt}),
		rapid.SliceOfN(kind, 1, 1),
		rapid.SliceOfN(kind, 0, 10),
	).Draw(t, "layout")
	s, err := NewShape(layout, combine)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drawCell(t *rapid.T, kind CellKind) Cell {
	if kind&Nullable != 0 && rapid.Bool().Draw(t, "null") {
		return Null()
	}
	switch {
	case kind.base() == AddFloat:
		return Float(float64(rapid.IntRange(-1000, 1000).Draw(t, "float"))) // sums are exact
	case kind.float():
		return Float(rapid.SampledFrom([]float64{1, -1, 2.5, math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "float"))
	case kind.numeric():
		return Bytes([]byte(formatCents(rapid.Int64Range(-1e15, 1e15).Draw(t, "cents"))))
	case kind.variable():
		return Bytes([]byte(rapid.StringN(0, 20, -1).Draw(t, "text")))
	}
	return Int(rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-1<<40, 1<<40)).Draw(t, "int"))
}

// drawRecord draws the tuples of a record, over few keys, so that many meet.
func drawRecord(t *rapid.T, shape *Shape, buckets int) []modelTuple {
	key := rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 40), func(i int) []byte { return AppendText(nil, strings.Repeat("k", i)) }),
		rapid.Map(rapid.Int64Range(0, 50), func(i int64) []byte { return AppendInt(AppendInt(nil, i), i) }),
		rapid.Just([]byte(nil)),
	)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) modelTuple {
		tuple := modelTuple{key: key.Draw(t, "key")}
		tuple.bucket = int(Bucket(tuple.key, buckets))
		for _, kind := range shape.Layout() {
			tuple.cells = append(tuple.cells, drawCell(t, kind))
		}
		return tuple
	}), 0, 30).Draw(t, "record")
}

func addRecord(table *Table, record []modelTuple) {
	for _, tuple := range record {
		table.Add(tuple.key, tuple.cells...)
	}
}

func TestTableHoldsWhatCommittedRecordsAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t)
		buckets := rapid.SampledFrom([]int{1, 3, 8}).Draw(t, "buckets")
		table, want := NewTable(shape, buckets), newModel(shape, buckets)
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				record := drawRecord(t, shape, buckets)
				addRecord(table, record)
				if err := table.CommitRecord(); err != nil {
					t.Fatal(err)
				}
				want.add(record)
			},
			"abort": func(t *rapid.T) {
				addRecord(table, drawRecord(t, shape, buckets))
				table.AbortRecord()
			},
			"refuse": func(t *rapid.T) {
				addRecord(table, drawRecord(t, shape, buckets))
				table.fail(ErrNumeric)
				if err := table.CommitRecord(); !errors.Is(err, ErrNumeric) {
					t.Fatalf("committed a refused record: %v", err)
				}
			},
			"read with an open record": func(t *rapid.T) {
				for i := range 2 {
					record := drawRecord(t, shape, buckets)
					addRecord(table, record)
					if i == 1 {
						table.Len()
					}
					if err := table.CommitRecord(); err != nil {
						t.Fatal(err)
					}
					want.add(record)
				}
			},
			"commit many": func(t *rapid.T) { // more than a window
				for range 4 {
					record := drawRecord(t, shape, buckets)
					addRecord(table, record)
					if err := table.CommitRecord(); err != nil {
						t.Fatal(err)
					}
					want.add(record)
				}
			},
			"reset": func(t *rapid.T) {
				table.Reset()
				want = newModel(shape, buckets)
			},
			"": func(t *rapid.T) { compareTable(t, table, want) },
		})
	})
}

func compareTable(t *rapid.T, table *Table, want *model) {
	total := 0
	for i := range table.Buckets() {
		b := table.Bucket(int32(i))
		if got, want := render(b), want.entries(i); !slices.Equal(got, want) {
			t.Fatalf("bucket %d holds\n%q\nwant\n%q", i, got, want)
		}
		if got, want := b.Tuples(), int64(len(want.order[i])); got != want {
			t.Fatalf("bucket %d counts %d tuples, want %d", i, got, want)
		}
		total += b.Len()
	}
	if table.Len() != total {
		t.Fatalf("Len is %d, want %d", table.Len(), total)
	}
}

// The one property that the exchange rests on: whatever way tuples are spread over blocks, writers and
// merges, the receiver ends with what combining them at once gives.
func TestMergingBlocksInAnyGroupingEqualsCombiningAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t)
		var m Merger
		at := NewBucketTable(shape)  // one after the other
		sub := NewBucketTable(shape) // gathered aside, then merged as a table
		want := newModel(shape, 1)
		for range rapid.IntRange(1, 5).Draw(t, "blocks") {
			table := NewTable(shape, 1)
			record := drawRecord(t, shape, 1)
			addRecord(table, record)
			if err := table.CommitRecord(); err != nil {
				t.Fatal(err)
			}
			want.add(record)
			h, body, err := ParseBlock(AppendBlock(nil, Header{}, table.Bucket(0)))
			if err != nil {
				t.Fatal(err)
			}
			if err := m.MergeBlock(sub, h, body); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "pour") {
				if err := m.MergeTable(at, sub); err != nil {
					t.Fatal(err)
				}
				sub.Reset()
			}
		}
		if err := m.MergeTable(at, sub); err != nil {
			t.Fatal(err)
		}
		if got, want := render(at), want.entries(0); !slices.Equal(got, want) {
			t.Fatalf("merged\n%q\nwant\n%q", got, want)
		}
		if at.Tuples() != int64(len(want.order[0])) {
			t.Fatalf("%d tuples, want %d", at.Tuples(), len(want.order[0]))
		}
	})
}

func TestSortedGivesTheOrderOfThePrimaryKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t)
		table := NewTable(shape, 1)
		addRecord(table, drawRecord(t, shape, 1))
		if err := table.CommitRecord(); err != nil {
			t.Fatal(err)
		}
		b := table.Bucket(0)
		var got []string
		var e, before Entry
		for i, ref := range b.Sorted(nil) {
			b.Load(ref, &e)
			if i > 0 && CompareKeys(before.Key, e.Key) > 0 {
				t.Fatalf("%s stands before %s", FormatKey(before.Key), FormatKey(e.Key))
			}
			before = e
			got = append(got, renderEntry(&e))
		}
		want := render(b)
		if !shape.Combine() { // equal keys must keep their order
			slices.SortStableFunc(want, func(a, b string) int { return compareHexKeys(a, b) })
		} else {
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("sorted\n%q\nwant\n%q", got, want)
		}
	})
}

func compareHexKeys(a, b string) int {
	decode := func(line string) []byte {
		var key []byte
		hexKey, _, _ := strings.Cut(line, "|")
		if _, err := fmt.Sscanf(hexKey, "%x", &key); err != nil && hexKey != "" {
			panic(err)
		}
		return key
	}
	return CompareKeys(decode(a), decode(b))
}
