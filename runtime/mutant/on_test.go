//go:build mutants

package mutant

import "testing"

func TestSetPlantsExactlyTheNamedFaults(t *testing.T) {
	before := *planted.Load()
	t.Cleanup(func() { Set(before...) })
	Set("one", "two", "")
	if !On("one") || !On("two") || On("three") || On("") {
		t.Errorf("planted one and two, but on are: %v", *planted.Load())
	}
	Set()
	if On("one") {
		t.Error("one is still on after Set()")
	}
}
