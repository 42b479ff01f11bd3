package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// Violation is one place where the code breaks a rule.
type Violation struct {
	File string
	Line int
	// Rule is the short name of the rule, Detail what is wrong and what to do.
	Rule, Detail string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", v.File, v.Line, v.Rule, v.Detail)
}

// checker collects violations.
type checker struct {
	Rules
	fset  *token.FileSet
	found []Violation
}

func (c *checker) reportf(pos token.Pos, rule, format string, args ...any) {
	at := c.fset.Position(pos)
	c.found = append(c.found, Violation{File: at.Filename, Line: at.Line, Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

// Check reads every Go file below root, except testdata and the like, and
// returns what breaks the rules, ordered by place.
func Check(root string, rules Rules) ([]Violation, error) {
	t, err := load(root)
	if err != nil {
		return nil, err
	}
	c := &checker{Rules: rules, fset: t.fset}
	c.packages(t.files)
	for _, f := range t.files {
		c.layers(f)
		c.libraries(f)
		c.testing(f)
		c.bannedFunctions(f)
		c.bannedMethods(f)
		c.inits(f)
		c.length(f)
		c.untypedMaps(f)
	}
	slices.SortFunc(c.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return c.found, nil
}

// packages checks what is true of a package rather than of a file.
func (c *checker) packages(files []*file) {
	type pkg struct {
		first      *file
		documented bool
	}
	byDir := map[string]*pkg{}
	for _, f := range files {
		if f.test {
			continue
		}
		p := byDir[f.dir]
		if p == nil {
			p = &pkg{first: f}
			byDir[f.dir] = p
		}
		p.documented = p.documented || f.syntax.Doc != nil
	}
	for dir, p := range byDir {
		if !p.documented {
			c.reportf(p.first.syntax.Package, "doc", "package %s has no package comment; add a doc.go", dir)
		}
		for _, name := range []string{path.Base(dir), p.first.syntax.Name.Name} {
			if slices.Contains(c.PackageNames, name) {
				c.reportf(p.first.syntax.Package, "name", "%q says nothing about what the package is for", name)
				break
			}
		}
	}
}

func (c *checker) layers(f *file) {
	var row *Layer
	for i, l := range c.Layers {
		if match(l.Dir, f.dir) && (row == nil || l.Dir == f.dir || row.Dir != f.dir && len(l.Dir) > len(row.Dir)) {
			row = &c.Layers[i]
		}
	}
	for _, imp := range f.imports {
		dir, inModule := strings.CutPrefix(imp.path, c.Module+"/")
		switch {
		case !inModule, dir == f.dir:
		case row != nil && matches(row.May, dir):
		case f.test && matches(c.TestImports, dir):
		default:
			c.reportf(imp.pos, "layer", "%s must not import %s", f.dir, dir)
		}
	}
}

func (c *checker) libraries(f *file) {
	for _, imp := range f.imports {
		for _, lib := range c.Libraries {
			if imp.path != lib.Path && !strings.HasPrefix(imp.path, lib.Path+"/") {
				continue
			}
			if matches(lib.In, f.dir) || f.test && matches(lib.Tests, f.dir) {
				continue
			}
			c.reportf(imp.pos, "library", "%s may be used in %v only", lib.Path, lib.In)
		}
	}
}

func (c *checker) testing(f *file) {
	if f.test || matches(c.TestingIn, f.dir) {
		return
	}
	for _, imp := range f.imports {
		if imp.path == "testing" || strings.HasPrefix(imp.path, "testing/") {
			c.reportf(imp.pos, "testing", "only test files and conformance suites may import %s", imp.path)
		}
	}
}

func (c *checker) bannedFunctions(f *file) {
	names := map[string]string{} // local name → import path
	for _, imp := range f.imports {
		names[imp.name] = imp.path
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		ident, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		for _, b := range c.Banned {
			exempt := f.test && !b.Tests || matches(b.Except, f.dir) || b.UnlessImported != "" && f.has(b.UnlessImported)
			if names[ident.Name] == b.Package && slices.Contains(b.Names, sel.Sel.Name) && !exempt {
				c.reportf(sel.Pos(), "banned", "%s.%s: %s", b.Package, sel.Sel.Name, b.Instead)
			}
		}
		return true
	})
}

func (c *checker) bannedMethods(f *file) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		for _, b := range c.BannedMethods {
			if matches(b.In, f.dir) && slices.Contains(b.Names, sel.Sel.Name) {
				c.reportf(sel.Sel.Pos(), "method", "%s: %s", sel.Sel.Name, b.Instead)
			}
		}
		return true
	})
}

func (c *checker) inits(f *file) {
	for _, decl := range f.syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			c.reportf(fn.Pos(), "init", "no work at import; construct it where it is used")
		}
	}
}

func (c *checker) length(f *file) {
	if f.lines <= c.MaxLines || c.LongFiles[f.path] != "" || ast.IsGenerated(f.syntax) {
		return
	}
	c.reportf(f.syntax.Package, "length", "%d lines, more than %d: split it by what it is about", f.lines, c.MaxLines)
}
