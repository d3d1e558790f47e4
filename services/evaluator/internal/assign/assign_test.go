package assign

import (
	"math"
	"math/rand/v2"
	"testing"
)

// bruteForce tries every assignment and returns the lowest sum, +Inf if none is allowed.
func bruteForce(n int, cost []float64, row int, used []bool) float64 {
	if row == n {
		return 0
	}
	best := math.Inf(1)
	for c := range n {
		if !used[c] {
			used[c] = true
			best = min(best, cost[row*n+c]+bruteForce(n, cost, row+1, used))
			used[c] = false
		}
	}
	return best
}

func TestSolveIsMinimal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var solver Solver
	for trial := range 3000 {
		n := 1 + random.IntN(6)
		cost := make([]float64, n*n)
		for i := range cost {
			switch random.IntN(4) {
			case 0:
				cost[i] = math.Inf(1)
			case 1:
				cost[i] = float64(random.IntN(3))
			default:
				cost[i] = random.Float64() * 5
			}
		}
		want := bruteForce(n, cost, 0, make([]bool, n))
		columns, ok := solver.Solve(n, cost)
		if ok != !math.IsInf(want, 1) {
			t.Fatalf("trial %d: ok = %v, want %v for %v", trial, ok, !ok, cost)
		}
		if !ok {
			continue
		}
		got, used := 0.0, make([]bool, n)
		for r, c := range columns {
			if used[c] {
				t.Fatalf("trial %d: column %d is used twice in %v", trial, c, columns)
			}
			used[c] = true
			got += cost[r*n+c]
		}
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("trial %d: cost %v, want %v for %v", trial, got, want, cost)
		}
	}
}

func TestSolveEmpty(t *testing.T) {
	var solver Solver
	if columns, ok := solver.Solve(0, nil); !ok || len(columns) != 0 {
		t.Errorf("Solve(0) = %v, %v, want none, true", columns, ok)
	}
}

// costs10 returns costs for 10 rows.
func costs10() []float64 {
	random := rand.New(rand.NewPCG(5, 6))
	cost := make([]float64, 100)
	for i := range cost {
		cost[i] = -math.Log(float64(float32(random.Float64())))
	}
	return cost
}

func TestSolveAllocatesNothing(t *testing.T) {
	cost := costs10()
	var solver Solver
	if got := testing.AllocsPerRun(100, func() { solver.Solve(10, cost) }); got != 0 {
		t.Errorf("Solve: got %v allocations, want 0", got)
	}
}

func BenchmarkSolve10(b *testing.B) {
	cost := costs10()
	var solver Solver
	b.ReportAllocs()
	for b.Loop() {
		solver.Solve(10, cost)
	}
}
