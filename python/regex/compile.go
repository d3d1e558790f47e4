package regex

// compiler converts the parts of an expression to instructions.
type compiler struct {
	program   []instruction
	registers int
}

// add appends an instruction and returns its index.
func (c *compiler) add(i instruction) int {
	c.program = append(c.program, i)
	return len(c.program) - 1
}

func (c *compiler) here() int { return len(c.program) }

func (c *compiler) emit(n *node) {
	switch n.kind {
	case nodeSequence:
		for _, child := range n.children {
			c.emit(child)
		}
	case nodeAlternatives:
		c.alternatives(n.children)
	case nodeOne:
		c.add(instruction{op: opOne, set: n.set})
	case nodeRepeat:
		c.repeat(n)
	case nodeGroup:
		c.add(instruction{op: opSave, x: 2 * n.group})
		c.emit(n.children[0])
		c.add(instruction{op: opSave, x: 2*n.group + 1})
	case nodeAt:
		c.add(instruction{op: opAt, place: n.place, flags: n.flags})
	case nodeLook:
		behind := -1
		if n.behind {
			behind, _ = width(n.children[0])
		}
		c.alone(instruction{op: opLook, behind: behind, negative: n.negative}, n.children[0])
	case nodeAtomic:
		c.alone(instruction{op: opAtomic}, n.children[0])
	case nodeBackref:
		c.add(instruction{op: opBackref, x: n.group, flags: n.flags})
	case nodeCondition:
		test := c.add(instruction{op: opCondition, x: n.group})
		c.emit(n.children[0])
		end := c.add(instruction{op: opJump})
		c.program[test].y = c.here()
		c.emit(n.children[1])
		c.program[end].x = c.here()
	}
}

func (c *compiler) alternatives(branches []*node) {
	var ends []int
	for i, branch := range branches {
		if i == len(branches)-1 {
			c.emit(branch)
			break
		}
		split := c.add(instruction{op: opSplit})
		c.emit(branch)
		ends = append(ends, c.add(instruction{op: opJump}))
		c.program[split].x = c.here()
	}
	for _, end := range ends {
		c.program[end].x = c.here()
	}
}

// alone adds a part that runs by itself, behind its instruction.
func (c *compiler) alone(i instruction, part *node) {
	at := c.add(i)
	c.emit(part)
	c.add(instruction{op: opMatch})
	c.program[at].x = c.here()
}

func (c *compiler) repeat(n *node) {
	part := n.children[0]
	if part.kind == nodeOne {
		c.add(instruction{op: opMany, set: part.set, min: n.min, max: n.max, lazy: n.lazy, possessive: n.possessive})
		return
	}
	if n.possessive {
		plain := *n
		plain.possessive = false
		c.alone(instruction{op: opAtomic}, &plain)
		return
	}
	register := c.registers // the count, then the start of the pass
	c.registers += 2
	c.add(instruction{op: opBegin, x: register})
	test := c.add(instruction{op: opRepeat, y: register, min: n.min, max: n.max, lazy: n.lazy})
	c.add(instruction{op: opEnter, x: register})
	c.emit(part)
	c.add(instruction{op: opJump, x: test})
	c.program[test].x = c.here()
}
