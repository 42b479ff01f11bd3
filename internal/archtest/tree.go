package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// file is one parsed source file.
type file struct {
	path    string // slash-separated, relative to the root
	dir     string // "." is the root
	test    bool
	lines   int
	syntax  *ast.File
	imports []imported
}

type imported struct {
	path string
	name string // as the file calls it
	pos  token.Pos
}

// tree is every Go file below a root, apart from what the go command ignores.
type tree struct {
	fset  *token.FileSet
	files []*file
}

func load(root string) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name != root && ignored(entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		case filepath.Ext(name) != ".go" || strings.HasPrefix(entry.Name(), "."):
			return nil
		}
		f, err := t.parse(root, name)
		if err != nil {
			return fmt.Errorf("archtest: %w", err)
		}
		t.files = append(t.files, f)
		return nil
	})
	return t, err
}

func ignored(dir string) bool {
	return dir == "testdata" || dir == "vendor" || dir == "node_modules" || dir == "bin" ||
		strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_")
}

func (t *tree) parse(root, name string) (*file, error) {
	source, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	rel = filepath.ToSlash(rel)
	syntax, err := parser.ParseFile(t.fset, rel, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &file{
		path:   rel,
		dir:    path.Dir(rel),
		test:   strings.HasSuffix(rel, "_test.go"),
		lines:  bytes.Count(source, []byte("\n")),
		syntax: syntax,
	}
	for _, spec := range syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		f.imports = append(f.imports, imported{path: p, name: localName(spec, p), pos: spec.Pos()})
	}
	return f, nil
}

func localName(spec *ast.ImportSpec, importPath string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(importPath)
}

func (f *file) has(importPath string) bool {
	for _, imp := range f.imports {
		if imp.path == importPath {
			return true
		}
	}
	return false
}

// matches reports whether dir is one of the patterns.
func matches(patterns []string, dir string) bool {
	for _, p := range patterns {
		if match(p, dir) {
			return true
		}
	}
	return false
}

func match(pattern, dir string) bool {
	if pattern == "..." {
		return true
	}
	if parent, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == parent || strings.HasPrefix(dir, parent+"/")
	}
	return dir == pattern
}
