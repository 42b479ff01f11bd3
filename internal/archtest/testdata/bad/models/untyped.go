package models

type Exported struct {
	Fine   map[string]string
	Bad    map[string]any // want untyped
	hidden map[string]any
	Nested struct {
		Deep []map[string]interface{} // want untyped
	}
}

type Bag map[string]any // want untyped

type Doer interface {
	Do(in map[string]any) error // want untyped
}

func Func() (map[string]any, error) { return nil, nil } // want untyped

func (e *Exported) Method(m func(map[string]any)) {} // want untyped

var Global map[string]any // want untyped

type Allowed map[string]any
