package exchange

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/zeebo/xxh3"
)

func smallTable(tb testing.TB, combine bool) *BucketTable {
	tb.Helper()
	table := NewTable(mustShape(tb, Layout{AddInt, AddFloat | Nullable, MinText, MaxNumeric | Nullable}, combine), 1)
	table.Add(key("a"), Int(1), Float(0.5), Bytes([]byte("text")), Null())
	table.Add(key("a"), Int(300), Null(), Bytes([]byte("longer text")), Bytes([]byte("12.50")))
	table.Add(bytes.Repeat([]byte{9}, 200), Int(-1), Null(), Bytes(nil), Null())
	if err := table.CommitRecord(); err != nil {
		tb.Fatal(err)
	}
	return table.Bucket(0)
}

func reseal(block []byte) []byte {
	binary.LittleEndian.PutUint64(block[atChecksum:], xxh3.Hash(block[atSignature:]))
	return block
}

func TestBlockCarriesItsHeaderAndEntries(t *testing.T) {
	h := Header{
		Signature: 0xfeed, Writer: runtime.NewWriterID(), Seq: 7, Prev: 5,
		EventMin: -3, EventMax: math.MaxInt64, Ingest: 1_700_000_000_000,
	}
	for _, combine := range []bool{true, false} {
		b := smallTable(t, combine)
		block := AppendBlock([]byte("before"), h, b)[len("before"):]
		got, body, err := ParseBlock(block)
		if err != nil {
			t.Fatal(err)
		}
		want := h
		want.Tuples, want.Entries = 3, b.Len()
		if got != want {
			t.Errorf("header %+v, want %+v", got, want)
		}
		var lines []string
		r := b.shape.Read(body, got.Entries)
		for r.Next() {
			lines = append(lines, renderEntry(r.Entry()))
		}
		if r.Err() != nil || len(lines) != b.Len() {
			t.Errorf("read %q, %v", lines, r.Err())
		}
		if !combine && fmt.Sprint(lines) != fmt.Sprint(render(b)) {
			t.Errorf("read %q, want %q", lines, render(b))
		}
	}
}

// The bytes of a block are read by other versions of sr: a change needs a new version in magic.
func TestBlockFormatNeverChanges(t *testing.T) {
	table := NewTable(mustShape(t, Layout{AddInt}, true), 1)
	table.AddText("word", 300)
	commit(t, table)
	h := Header{Signature: 1, Writer: runtime.WriterID{2}, Seq: 3, Prev: 4, EventMin: 5, EventMax: 6, Ingest: 7}
	got := fmt.Sprintf("%x", AppendBlock(nil, h, table.Bucket(0)))
	const want = "73726201" + "353f26b14047c069" + // format, checksum
		"0100000000000000" + "02000000000000000000000000000000" + // signature, writer
		"0300000000000000" + "0400000000000000" + // seq, prev
		"0100000000000000" + "0100000000000000" + // tuples, entries
		"0500000000000000" + "0600000000000000" + "0700000000000000" + // event times, ingest
		"06" + "0104776f7264" + "d804"
	if got != want {
		t.Errorf("block\n%s, want\n%s", got, want)
	}
}

func TestDamagedBlocksAreRefused(t *testing.T) {
	whole := AppendBlock(nil, Header{}, smallTable(t, true))
	change := func(at int, with byte) []byte {
		b := bytes.Clone(whole)
		b[at] ^= with
		return b
	}
	entries := bytes.Clone(whole)
	binary.LittleEndian.PutUint64(entries[atEntries:], 1<<60)
	for name, c := range map[string]struct {
		block []byte
		want  error
	}{
		"nothing":          {nil, ErrTruncated},
		"header cut short": {whole[:HeaderSize-1], ErrTruncated},
		"other version":    {change(3, 2), ErrFormat},
		"not a block":      {[]byte("hello world, this is text"), ErrFormat},
		"body cut short":   {whole[:len(whole)-1], ErrChecksum},
		"flipped bit":      {change(len(whole)-1, 1), ErrChecksum},
		"flipped header":   {change(atSeq, 1), ErrChecksum},
		"too many entries": {reseal(entries), ErrTruncated},
	} {
		if _, _, err := ParseBlock(c.block); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestMalformedBodiesAreRefusedWhole(t *testing.T) {
	shape := mustShape(t, Layout{AddInt, MinNumeric | Nullable}, true)
	good := []byte{1, 'k', 0b01, 2}
	for name, c := range map[string]struct {
		body    []byte
		entries int
		want    error
	}{
		"bytes behind the end":   {append(bytes.Clone(good), 0), 1, ErrTruncated},
		"entry missing":          {good, 2, ErrTruncated},
		"cell missing":           {good[:3], 1, ErrTruncated},
		"key missing":            {[]byte{5, 'k'}, 1, ErrTruncated},
		"key too long":           {[]byte{0xff, 0xff, 0x7f}, 1, ErrEntry},
		"null not allowed":       {[]byte{1, 'k', 0b10, 1, '5'}, 1, ErrEntry},
		"presence without cell":  {[]byte{1, 'k', 0b101, 2}, 1, ErrEntry},
		"numeric that is none":   {[]byte{1, 'k', 0b11, 2, 2, '1', 'x'}, 1, ErrEntry},
		"numeric past the end":   {[]byte{1, 'k', 0b11, 2, 9, '1'}, 1, ErrTruncated},
		"varint of eleven bytes": {append([]byte{1, 'k', 1}, bytes.Repeat([]byte{0xff}, 11)...), 1, ErrEntry},
	} {
		dst := NewBucketTable(shape)
		var m Merger
		body := append(bytes.Clone(good), c.body...)
		if err := m.MergeBlock(dst, Header{Entries: c.entries + 1}, body); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if dst.Len() != 0 {
			t.Errorf("%s: the sound entry before was merged", name)
		}
	}
}

func TestMergeThatOverflowsChangesNothing(t *testing.T) {
	shape := mustShape(t, Layout{AddInt}, true)
	block := func(a, b int64) (Header, []byte) {
		table := NewTable(shape, 1)
		table.AddText("a", a)
		table.AddText("b", b)
		commit(t, table)
		h, body, err := ParseBlock(AppendBlock(nil, Header{}, table.Bucket(0)))
		if err != nil {
			t.Fatal(err)
		}
		return h, body
	}
	var m Merger
	dst := NewBucketTable(shape)
	merge := func(a, b int64) error {
		h, body := block(a, b)
		return m.MergeBlock(dst, h, body)
	}
	if err := merge(1, math.MaxInt64-1); err != nil {
		t.Fatal(err)
	}
	if err := merge(1, 2); !errors.Is(err, ErrOverflow) {
		t.Fatalf("%v, want ErrOverflow", err)
	}
	if err := merge(1, 1); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("[%x|2 %x|%d]", key("a"), key("b"), int64(math.MaxInt64))
	if got := fmt.Sprint(render(dst)); got != want {
		t.Errorf("merged %s, want %s", got, want)
	}
	if dst.Tuples() != 4 {
		t.Errorf("%d tuples, want 4", dst.Tuples())
	}
}

func TestImpossibleLayoutsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		layout  Layout
		combine bool
	}{
		"unknown kind":   {Layout{0}, true},
		"kind too high":  {Layout{Tuple + 1}, false},
		"combined tuple": {Layout{Tuple}, true},
		"too many cells": {make(Layout, MaxCells+1), false},
	} {
		if _, err := NewShape(c.layout, c.combine); !errors.Is(err, ErrLayout) {
			t.Errorf("%s: %v, want ErrLayout", name, err)
		}
	}
}

func TestDecodingAllocatesNothingPerEntry(t *testing.T) {
	b := smallTable(t, true)
	block := AppendBlock(nil, Header{}, b)
	dst := NewBucketTable(b.shape)
	var m Merger
	if n := testing.AllocsPerRun(100, func() {
		h, body, err := ParseBlock(block)
		if err != nil {
			t.Fatal(err)
		}
		r := b.shape.Read(body, h.Entries)
		for r.Next() {
			_ = r.Entry().Key
		}
	}); n > 1 { // the Reader
		t.Errorf("reading a block: %v allocations", n)
	}
	h, body, err := ParseBlock(block)
	if err != nil {
		t.Fatal(err)
	}
	counts := mustShape(t, Layout{AddInt}, true)
	source := NewTable(counts, 1)
	source.AddText("word", 1)
	commit(t, source)
	hc, bodyc, err := ParseBlock(AppendBlock(nil, Header{}, source.Bucket(0)))
	if err != nil {
		t.Fatal(err)
	}
	into := NewBucketTable(counts)
	if n := testing.AllocsPerRun(100, func() { err = m.MergeBlock(into, hc, bodyc) }); n != 0 || err != nil {
		t.Errorf("merging a block: %v allocations, %v", n, err)
	}
	if err := m.MergeBlock(dst, h, body); err != nil {
		t.Fatal(err)
	}
}

// FuzzDecode feeds any bytes as a block with a right checksum: nothing may panic, and what is accepted
// must survive a round trip.
func FuzzDecode(f *testing.F) {
	for _, combine := range []bool{true, false} {
		f.Add(AppendBlock(nil, Header{Seq: 1}, smallTable(f, combine))[HeaderSize:], uint64(2), combine)
	}
	f.Add([]byte{1, 'k', 0b11, 2, 1, '5'}, uint64(1), true)
	f.Add([]byte{0xff, 0xff, 0xff}, uint64(3), true)
	shapes := map[bool]*Shape{}
	for _, combine := range []bool{true, false} {
		shapes[combine] = smallTable(f, combine).shape
	}
	f.Fuzz(func(t *testing.T, body []byte, entries uint64, combine bool) {
		block := appendHeader(nil, &Header{Seq: 1, Entries: int(entries)})
		h, body, err := ParseBlock(reseal(append(block, body...)))
		if err != nil {
			return
		}
		dst := NewBucketTable(shapes[combine])
		var m Merger
		if m.MergeBlock(dst, h, body) != nil {
			if dst.Len() != 0 {
				t.Fatal("a refused block left entries")
			}
			return
		}
		again, body2, err := ParseBlock(AppendBlock(nil, h, dst))
		if err != nil {
			t.Fatal(err)
		}
		twin := NewBucketTable(shapes[combine])
		if err := m.MergeBlock(twin, again, body2); err != nil {
			t.Fatal(err)
		}
		if x, y := fmt.Sprint(render(dst)), fmt.Sprint(render(twin)); x != y {
			t.Fatalf("round trip of %s gave %s", x, y)
		}
		var e Entry
		for _, ref := range dst.Sorted(nil) {
			dst.Load(ref, &e)
			_ = FormatKey(e.Key)
		}
	})
}
