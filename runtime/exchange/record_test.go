package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func key(s string) []byte { return AppendText(nil, s) }

func count(t *testing.T, table *Table, k []byte) int64 {
	t.Helper()
	for e := range table.Bucket(Bucket(k, table.Buckets())).All() {
		if bytes.Equal(e.Key, k) {
			return e.Int(0)
		}
	}
	return 0
}

func commit(t *testing.T, table *Table) {
	t.Helper()
	if err := table.CommitRecord(); err != nil {
		t.Fatal(err)
	}
}

func TestOverflowRefusesTheWholeRecordAndNothingElse(t *testing.T) {
	for _, longKey := range []string{"sum", strings.Repeat("long", 10)} {
		table := NewTable(mustShape(t, Layout{AddInt}, true), 8)
		table.AddText(longKey, math.MaxInt64-1)
		commit(t, table)

		table.AddText("other", 5)
		table.AddText(longKey, 2)
		if err := table.CommitRecord(); !errors.Is(err, ErrOverflow) || !strings.Contains(err.Error(), longKey) {
			t.Fatalf("%v, want ErrOverflow that names the key", err)
		}
		table.AddText("other", 7)
		table.AddText(longKey, 1)
		commit(t, table)
		if got := count(t, table, key(longKey)); got != math.MaxInt64 {
			t.Errorf("sum is %d, want the greatest int64", got)
		}
		if got := count(t, table, key("other")); got != 7 {
			t.Errorf("other is %d, want 7: the refused record left a part", got)
		}
		if got := table.Bucket(Bucket(key("other"), 8)).Tuples(); got < 1 || got > 3 {
			t.Errorf("%d tuples in the bucket", got)
		}
	}
}

func TestOverflowWithinOneRecordIsSeen(t *testing.T) {
	table := NewTable(mustShape(t, Layout{AddInt}, true), 8)
	table.AddText("sum", math.MinInt64)
	table.AddText("sum", -1)
	if err := table.CommitRecord(); !errors.Is(err, ErrOverflow) {
		t.Fatalf("%v, want ErrOverflow", err)
	}
	if table.Len() != 0 {
		t.Error("the refused record left an entry")
	}
}

func TestLargeSumsThatDoNotOverflowAreAccepted(t *testing.T) {
	table := NewTable(mustShape(t, Layout{AddInt, AddInt | Nullable}, true), 8)
	for range 10 {
		table.Add(key("a"), Int(math.MaxInt64), Null())
		commit(t, table)
		table.Add(key("a"), Int(-math.MaxInt64), Int(1))
		commit(t, table)
	}
	if got := count(t, table, key("a")); got != 0 {
		t.Errorf("sum is %d, want 0", got)
	}
}

func TestOverflowOfANullableCellIsSeen(t *testing.T) {
	table := NewTable(mustShape(t, Layout{AddInt, AddInt | Nullable}, true), 8)
	table.Add(key("a"), Int(1), Int(math.MaxInt64))
	commit(t, table)
	table.Add(key("a"), Int(1), Int(1))
	if err := table.CommitRecord(); !errors.Is(err, ErrOverflow) {
		t.Fatalf("%v, want ErrOverflow", err)
	}
	if got := count(t, table, key("a")); got != 1 {
		t.Errorf("first cell is %d, want 1: the refused record left a part", got)
	}
}

func TestKeyAboveTheLimitRefusesItsRecord(t *testing.T) {
	table := NewTable(mustShape(t, Layout{AddInt}, true), 8)
	table.AddText("kept out", 1)
	table.AddText(strings.Repeat("x", MaxKey), 1) // tag and length come on top
	if err := table.CommitRecord(); !errors.Is(err, ErrKeyTooLong) {
		t.Fatalf("%v, want ErrKeyTooLong", err)
	}
	table.AddText(strings.Repeat("x", MaxKey-3), 1)
	commit(t, table)
	if table.Len() != 1 {
		t.Errorf("%d entries, want 1", table.Len())
	}
}

func TestNumericThatIsNoneRefusesItsRecord(t *testing.T) {
	table := NewTable(mustShape(t, Layout{AddNumeric}, true), 8)
	for _, bad := range []string{"", "abc", "NaN", "Infinity", "1e1000", "1e-1001", "1e999999999", "1.2.3", strings.Repeat("9", 5000)} {
		table.Add(key("a"), Bytes([]byte(bad)))
		if err := table.CommitRecord(); !errors.Is(err, ErrNumeric) {
			t.Errorf("%.20q: %v, want ErrNumeric", bad, err)
		}
	}
	for _, good := range []string{"1.10", "-2", "1e3", "+0.005", "-0", "0e500"} {
		table.Add(key("a"), Bytes([]byte(good)))
		commit(t, table)
	}
	for e := range table.Bucket(Bucket(key("a"), 8)).All() {
		if got := string(e.Bytes(0)); got != "999.105" {
			t.Errorf("sum is %s, want 999.105", got)
		}
	}
}

func TestEqualDecimalsOfOtherScaleCombineTheSameInAnyOrder(t *testing.T) {
	var d decimals
	for _, kind := range []CellKind{MinNumeric, MaxNumeric} {
		a := string(d.combine(kind, []byte("1.0"), []byte("1.00")))
		b := string(d.combine(kind, []byte("1.00"), []byte("1.0")))
		if a != b {
			t.Errorf("kind %d gives %s or %s", kind, a, b)
		}
	}
}

// A record that would take a block past the limit of the topic waits for the next batch; one that
// could never fit is refused.
func TestBlocksNeverPassTheirLimit(t *testing.T) {
	table := NewTable(mustShape(t, Layout{Tuple}, false), 4)
	big := bytes.Repeat([]byte{7}, 3<<20)
	add := func(n int) error {
		for range n {
			table.Add(key("a"), Bytes(big))
		}
		return table.CommitRecord()
	}
	if err := add(3); !errors.Is(err, ErrRecordTooLarge) {
		t.Fatalf("9 MiB in a record: %v, want ErrRecordTooLarge", err)
	}
	if err := add(2); err != nil {
		t.Fatal(err)
	}
	if err := add(1); !errors.Is(err, ErrBatchFull) {
		t.Fatalf("3 MiB beside 6: %v, want ErrBatchFull", err)
	}
	if table.Largest() < BlockTarget {
		t.Error("Largest does not tell to cut the batch")
	}
	if n := len(AppendBlock(nil, Header{}, table.Bucket(Bucket(key("a"), 4)))); n > BlockMax {
		t.Errorf("block of %d bytes", n)
	}
	table.Reset()
	if err := add(1); err != nil {
		t.Errorf("after the cut: %v", err)
	}
}

func TestRouteOverridesTheHash(t *testing.T) {
	for _, combine := range []bool{true, false} {
		table := NewTable(mustShape(t, Layout{AddInt}, combine), 4)
		for b := range int32(4) {
			table.Route(b)
			table.AddText("everywhere", int64(b))
		}
		table.RouteByKey()
		table.AddText("everywhere", 10)
		commit(t, table)
		for b := range int32(4) {
			want := fmt.Sprintf("[%x|%d]", key("everywhere"), b)
			if b == Bucket(key("everywhere"), 4) {
				want = fmt.Sprintf("[%x|%d]", key("everywhere"), b+10)
				if !combine {
					want = fmt.Sprintf("[%x|%d %x|10]", key("everywhere"), b, key("everywhere"))
				}
			}
			if got := fmt.Sprint(render(table.Bucket(b))); got != want {
				t.Errorf("bucket %d holds %s, want %s", b, got, want)
			}
		}
	}
}

func TestAddTextIsAddIntOfItsEncoding(t *testing.T) {
	a, b := NewTable(mustShape(t, Layout{AddInt}, true), 16), NewTable(mustShape(t, Layout{AddInt}, true), 16)
	for n := range 40 {
		text := "The quick brown fox jumps over the lazy dog"[:n]
		a.AddText(text, int64(n))
		b.AddInt(key(text), int64(n))
	}
	commit(t, a)
	commit(t, b)
	for i := range int32(16) {
		if x, y := fmt.Sprint(render(a.Bucket(i))), fmt.Sprint(render(b.Bucket(i))); x != y {
			t.Errorf("bucket %d: %s and %s", i, x, y)
		}
	}
}

func TestAddingAllocatesNothing(t *testing.T) {
	counts := NewTable(mustShape(t, Layout{AddInt}, true), 64)
	wide := NewTable(mustShape(t, Layout{AddInt, AddFloat | Nullable, MaxText}, true), 64)
	text, long, scratch := []byte("some text"), strings.Repeat("long", 10), []byte(nil)
	record := func() {
		for i := range 100 {
			counts.AddText("a word", 1)
			counts.AddText(long, 1)
			scratch = AppendInt(AppendText(scratch[:0], "field"), int64(i))
			counts.AddInt(scratch, 1)
			wide.Add(scratch, Int(1), Float(2), Bytes(text))
		}
		if counts.CommitRecord() != nil || wide.CommitRecord() != nil {
			t.Fatal("record refused")
		}
	}
	if n := testing.AllocsPerRun(100, record); n != 0 {
		t.Errorf("%v allocations for 400 tuples", n)
	}
}

func TestBytesIsCloseToTheEncodedSize(t *testing.T) {
	table := NewTable(mustShape(t, Layout{AddInt, MaxText}, true), 1)
	for i := range 5000 {
		table.Add(key(fmt.Sprint("key", i%3000)), Int(1), Bytes([]byte(strings.Repeat("v", i%50))))
		commit(t, table)
	}
	encoded := len(AppendBlock(nil, Header{}, table.Bucket(0)))
	if b := table.Bucket(0).Bytes(); b < encoded/2 || b > encoded*2 {
		t.Errorf("accounted %d bytes, encoded %d", b, encoded)
	}
	if table.Bytes() != table.Bucket(0).Bytes() || table.Largest() != table.Bytes() {
		t.Errorf("table accounts %d and %d bytes, its bucket %d", table.Bytes(), table.Largest(), table.Bucket(0).Bytes())
	}
}

// The arena of variable cells must not grow with every replacement.
func TestReplacedTextsDoNotPileUp(t *testing.T) {
	table := NewTable(mustShape(t, Layout{MaxText}, true), 1)
	long := strings.Repeat("k", 100)
	for i := range 5000 {
		table.Add(key(long), Bytes(bytes.Repeat([]byte{'v'}, i)))
		commit(t, table)
	}
	b := table.Bucket(0)
	if len(b.arena) > 4*minGarbage {
		t.Errorf("arena of %d bytes for one entry of 5 kB", len(b.arena))
	}
	if got := render(b); len(got) != 1 || len(got[0]) != 2*(100+2)+1+4999 {
		t.Errorf("the entry is damaged: %d entries", len(got))
	}
}

func TestResetLetsGoOfMemoryThatIsNoLongerNeeded(t *testing.T) {
	b := NewBucketTable(mustShape(t, Layout{AddInt}, true))
	b.reserve(100_000)
	b.Reset()
	if len(b.slots) > minShrink {
		t.Errorf("%d slots after an empty filling", len(b.slots))
	}
}

// Entries of one table arrive at another in the order of their hashes. If both used the same order,
// probing would take time quadratic in the entries; the count of probes shows it without a clock.
func TestFillingFromAnotherTableKeepsProbesShort(t *testing.T) {
	source := NewBucketTable(mustShape(t, Layout{AddInt}, true))
	for i := range 20_000 {
		var tu tuple
		tu.key.setInline(AppendInt(nil, int64(i)))
		tu.hash = Hash(AppendInt(nil, int64(i)))
		source.fold(&tu, nil, nil)
	}
	target, worst := NewBucketTable(source.shape), 0
	for tu := range source.located() {
		target.fold(&tu, nil, nil)
		at := target.home(tu.hash)
		probes := 1
		for target.slots[at].key != tu.key {
			at = (at + 1) & (len(target.slots) - 1)
			probes++
		}
		worst = max(worst, probes)
	}
	if worst > 200 {
		t.Errorf("a probe sequence of %d", worst)
	}
}

func TestResetEmptiesEverything(t *testing.T) {
	table := NewTable(mustShape(t, Layout{AddInt, MaxText}, true), 2)
	for range 3 {
		table.Add(bytes.Repeat([]byte{9}, 100), Int(math.MaxInt64), Bytes([]byte("text")))
		commit(t, table)
		b := table.Bucket(Bucket(bytes.Repeat([]byte{9}, 100), 2))
		if len(b.cells) != 2 || len(b.arena) != 104 || b.Len() != 1 || table.room.spent {
			t.Fatalf("a filling began with %d words, %d bytes, headroom %v left over", len(b.cells)-2, len(b.arena)-104, table.room)
		}
		table.Add(key("open"), Int(1), Bytes(nil))
		table.Reset()
		if table.Len() != 0 || table.Bytes() != 0 || table.Largest() != 0 {
			t.Fatal("the table is not empty")
		}
	}
}
