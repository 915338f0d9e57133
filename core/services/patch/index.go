package patch

import "errors"

// maxSteps limits the comparisons and the places found for one diff, so that a file and a diff of
// thousands of equal lines take at most about 0.1 s.
const maxSteps = 30_000_000

// maxPlaces limits the places kept for one diff.
const maxPlaces = 1_000_000

var errTooRepetitive = errors.New("too many equal lines to place the hunks")

// index finds sequences of lines in a text, for one tier. It contains only the lines of the hunks
// that it was made for.
type index struct {
	ids    map[string]int32 // folded content -> id, from 1
	tier   tier
	lines  []string
	text   []int32 // id of each line of the text; 0: in no hunk
	starts []int32 // of an id's places in stands
	stands []int32
	budget *budget

	kinds map[string]int32  // content of a line of text or hunk -> number; nil unless the tier has same
	same  map[[2]int32]bool // by the kinds of a line of the text and one of a hunk
	kind  []int32           // of each line of the text; 0: in no hunk
}

// budget is the remainder of maxSteps and maxPlaces.
type budget struct{ steps, places int }

func (b *budget) spend(steps, places int) error {
	b.steps -= steps
	b.places -= places
	if b.steps < 0 || b.places < 0 {
		return errTooRepetitive
	}
	return nil
}

// newIndex indexes the lines of a text that occur in hunks.
func newIndex(text []string, t tier, hunks []*hunk, b *budget) *index {
	x := &index{ids: map[string]int32{}, tier: t, lines: text, text: make([]int32, len(text)), budget: b}
	fold := t.fold
	if t.same != nil { // it is expensive
		known := map[string]string{}
		fold = func(s string) string {
			key, ok := known[s]
			if !ok {
				key = t.fold(s)
				known[s] = key
			}
			return key
		}
	}
	for _, h := range hunks {
		for _, l := range h.lines {
			key := fold(l.text)
			if x.ids[key] == 0 {
				x.ids[key] = int32(len(x.ids) + 1)
			}
		}
	}
	x.starts = make([]int32, len(x.ids)+2)
	for i, l := range text {
		id := x.ids[fold(content(l))]
		x.text[i] = id
		x.starts[id]++
	}
	var sum int32
	for id := 1; id < len(x.starts); id++ { // places of id 0 are not kept
		sum, x.starts[id] = sum+x.starts[id], sum
	}
	x.stands = make([]int32, sum)
	next := append([]int32(nil), x.starts...)
	for i, id := range x.text {
		if id != 0 {
			x.stands[next[id]] = int32(i)
			next[id]++
		}
	}
	if t.same != nil {
		x.number()
	}
	return x
}

// number gives equal lines of the text one number, so that each pair of different lines is compared
// once.
func (x *index) number() {
	x.kinds, x.same, x.kind = map[string]int32{}, map[[2]int32]bool{}, make([]int32, len(x.text))
	for i, id := range x.text {
		if id != 0 {
			x.kind[i] = x.kindOf(content(x.lines[i]))
		}
	}
}

func (x *index) kindOf(text string) int32 {
	k, ok := x.kinds[text]
	if !ok {
		k = int32(len(x.kinds) + 1)
		x.kinds[text] = k
	}
	return k
}

// equal reports whether line at of the text counts as equal to a line of a hunk.
func (x *index) equal(at int, text string) bool {
	if x.tier.same == nil || x.kind[at] == 0 {
		return x.tier.equal(content(x.lines[at]), text)
	}
	pair := [2]int32{x.kind[at], x.kindOf(text)}
	same, ok := x.same[pair]
	if !ok {
		same = x.tier.equal(content(x.lines[at]), text)
		x.same[pair] = same
	}
	return same
}

// sequence returns the ids of the lines that pick selects.
func (x *index) sequence(lines []line, pick func(line) bool) []int32 {
	seq := make([]int32, 0, len(lines))
	for _, l := range lines {
		if pick(l) {
			seq = append(seq, x.ids[x.tier.fold(l.text)])
		}
	}
	return seq
}

// find returns every place, in ascending order, at which the lines that pick selects begin in the
// text.
func (x *index) find(lines []line, pick func(line) bool) ([]int32, error) {
	places, err := x.places(x.sequence(lines, pick))
	if err != nil || x.tier.same == nil {
		return places, err
	}
	var found []int32
	for _, p := range places {
		if x.matchesAt(lines, pick, int(p)) {
			found = append(found, p)
		}
	}
	return found, nil
}

// matchesAt reports whether the lines that pick selects are those of the text from line at on.
func (x *index) matchesAt(lines []line, pick func(line) bool, at int) bool {
	for _, l := range lines {
		if !pick(l) {
			continue
		}
		if at >= len(x.lines) || !x.equal(at, l.text) {
			return false
		}
		at++
	}
	return true
}

// at returns the places of the lines of the text with this id.
func (x *index) at(id int32) []int32 { return x.stands[x.starts[id]:x.starts[id+1]] }

// places returns every place, in ascending order, at which seq begins in the text.
func (x *index) places(seq []int32) ([]int32, error) {
	if len(seq) == 0 || len(seq) > len(x.text) {
		return nil, nil
	}
	rarest := 0
	for i, id := range seq {
		if len(x.at(id)) < len(x.at(seq[rarest])) {
			rarest = i
		}
	}
	hits := x.at(seq[rarest])
	if len(hits) > 4 && len(hits)*len(seq) > 2*len(x.text) {
		return x.scan(seq)
	}
	var found []int32
	for _, hit := range hits {
		start := int(hit) - rarest
		if start < 0 || start+len(seq) > len(x.text) {
			continue
		}
		i := 0
		for i < len(seq) && x.text[start+i] == seq[i] {
			i++
		}
		if err := x.budget.spend(i+1, 0); err != nil {
			return nil, err
		}
		if i == len(seq) {
			found = append(found, int32(start))
		}
	}
	return found, x.budget.spend(0, len(found))
}

// scan is places by Knuth, Morris and Pratt: linear however often lines repeat.
func (x *index) scan(seq []int32) ([]int32, error) {
	if err := x.budget.spend(len(seq)+len(x.text), 0); err != nil {
		return nil, err
	}
	border := make([]int32, len(seq)+1)
	border[0] = -1
	for i, k := 0, int32(-1); i < len(seq); {
		for k >= 0 && seq[i] != seq[k] {
			k = border[k]
		}
		i++
		k++
		border[i] = k
	}
	var found []int32
	k := int32(0)
	for i, id := range x.text {
		for k >= 0 && (int(k) == len(seq) || id != seq[k]) {
			k = border[k]
		}
		k++
		if int(k) == len(seq) {
			found = append(found, int32(i+1-len(seq)))
		}
	}
	return found, x.budget.spend(0, len(found))
}
