package archtest

import (
	"go/ast"
	"go/token"
)

// untypedMaps looks for map[string]any in what a package exports: signatures of
// functions and methods, fields, type definitions, variables and constants.
func (c *checker) untypedMaps(f *file) {
	if f.test || f.syntax.Name.Name == "main" {
		return
	}
	for _, decl := range f.syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) {
				c.untyped(f, d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				c.untypedSpec(f, d.Tok, spec)
			}
		}
	}
}

func (c *checker) untypedSpec(f *file, tok token.Token, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			c.untyped(f, s.Name.Name, s.Type)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() && s.Type != nil && tok != token.IMPORT {
				c.untyped(f, name.Name, s.Type)
			}
		}
	}
}

// untyped reports the untyped maps that expr exposes; unexported fields expose nothing.
func (c *checker) untyped(f *file, name string, expr ast.Expr) {
	if c.UntypedMaps[f.dir+"."+name] != "" {
		return
	}
	ast.Inspect(expr, func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.StructType:
			for _, field := range e.Fields.List {
				if exposed(field) {
					c.untyped(f, name, field.Type)
				}
			}
			return false
		case *ast.InterfaceType:
			for _, method := range e.Methods.List {
				if exposed(method) {
					c.untyped(f, name, method.Type)
				}
			}
			return false
		case *ast.MapType:
			if isIdent(e.Key, "string") && isAny(e.Value) {
				c.reportf(e.Pos(), "untyped", "%s exposes map[string]any; give it a type", name)
			}
		}
		return true
	})
}

func exposed(field *ast.Field) bool {
	if len(field.Names) == 0 {
		return true // embedded
	}
	for _, name := range field.Names {
		if name.IsExported() {
			return true
		}
	}
	return false
}

func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	expr := fn.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.IsExported()
		default:
			return false
		}
	}
}

func isIdent(expr ast.Expr, name string) bool {
	ident, ok := expr.(*ast.Ident)
	return ok && ident.Name == name
}

func isAny(expr ast.Expr) bool {
	if iface, ok := expr.(*ast.InterfaceType); ok {
		return len(iface.Methods.List) == 0
	}
	return isIdent(expr, "any")
}
