package wordlist

// Rule is what to do about the words of a list.
type Rule struct {
	Words []string
	// Refuse refuses a text with one of the words; else the words are masked in it.
	Refuse bool
}

// Filter finds the words of its rules. It is an Aho-Corasick automaton: what it costs
// depends on the text alone. It is never changed; a nil filter finds nothing.
type Filter struct {
	next  map[step]int32
	nodes []node
}

// step leads from a node by a character to another node.
type step struct {
	from int32
	by   rune
}

// node stands for the beginning of a word. Node 0 stands for none.
type node struct {
	fail  int32  // of the longest beginning that this one ends with
	depth uint16 // in characters
	match uint16 // length of the longest word that ends here, masked or refused; zero: none
	stop  bool   // a refused word ends here
}

// New returns a filter, nil if there are no words.
func New(rules ...Rule) *Filter {
	f := &Filter{next: map[step]int32{}, nodes: make([]node, 1)}
	for _, r := range rules {
		for _, word := range r.Words {
			f.add(word, r.Refuse)
		}
	}
	if len(f.nodes) == 1 {
		return nil
	}
	f.link()
	return f
}

func (f *Filter) add(word string, refuse bool) {
	at := int32(0)
	for _, r := range word {
		if invisible(r) {
			continue
		}
		s := step{at, fold(r)}
		next, known := f.next[s]
		if !known {
			next = int32(len(f.nodes))
			f.next[s] = next
			f.nodes = append(f.nodes, node{depth: f.nodes[at].depth + 1})
		}
		at = next
	}
	if at != 0 {
		f.nodes[at].match = f.nodes[at].depth
		f.nodes[at].stop = f.nodes[at].stop || refuse
	}
}

// link finds the failure of every node, those of shorter beginnings first.
func (f *Filter) link() {
	children := make([][]step, len(f.nodes))
	for s := range f.next {
		children[s.from] = append(children[s.from], s)
	}
	queue := []int32{0}
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		for _, s := range children[from] {
			to := f.next[s]
			if from != 0 {
				fail := f.follow(f.nodes[from].fail, s.by)
				n := &f.nodes[to]
				n.fail = fail
				n.match = max(n.match, f.nodes[fail].match)
				n.stop = n.stop || f.nodes[fail].stop
			}
			queue = append(queue, to)
		}
	}
}

// follow goes on from a node by a folded character.
func (f *Filter) follow(at int32, by rune) int32 {
	for {
		if next, ok := f.next[step{at, by}]; ok {
			return next
		}
		if at == 0 {
			return 0
		}
		at = f.nodes[at].fail
	}
}

// Apply returns the text with its words masked, or refused if it holds a word that is.
func (f *Filter) Apply(text string) (masked string, refused bool) {
	if f == nil || !f.finds(text) {
		return text, false
	}
	s := f.Stream()
	masked = s.Write(text) + s.Close()
	return masked, s.Refused()
}

func (f *Filter) finds(text string) bool {
	at := int32(0)
	for _, r := range text {
		if invisible(r) {
			continue
		}
		if at = f.follow(at, fold(r)); f.nodes[at].match > 0 {
			return true
		}
	}
	return false
}
