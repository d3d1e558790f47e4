package sequential

// Means returns the means of a result alone.
func (d Design) Means(scores []Scores) []Estimate {
	w := d.walk(scores)
	w.next()
	var all []Estimate
	for agent := range w.reached {
		all = append(all, w.mean(agent))
	}
	return all
}

// Used returns the rollouts of an agent that Next has asked for, by base scenario.
func (d Design) Used(scores []Scores, agent int) [][]int {
	w := d.walk(scores)
	w.next()
	last := w.reached[agent]
	var used [][]int
	for c, cluster := range w.clusters {
		depth := w.depths[last.pass]
		if c >= last.clusters {
			if depth = 0; last.pass > 0 {
				depth = w.depths[last.pass-1]
			}
		}
		used = append(used, cluster[:min(depth, len(cluster))])
	}
	return used
}
