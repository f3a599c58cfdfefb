package mutant

import "testing"

func TestAFaultThatNobodyPlantedIsOff(t *testing.T) {
	if On("aFaultOfNoName") {
		t.Error("a fault that nobody planted is on")
	}
}
