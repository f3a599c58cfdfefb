package topology

import (
	"reflect"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker/nature"
)

// operatorPatch puts our functions in place of operators whose operands are integers or decimals: one
// a pass, the innermost first, because the types around it are known only after the next check.
type operatorPatch struct{ applied bool }

func (p *operatorPatch) Reset()             { p.applied = false }
func (p *operatorPatch) ShouldRepeat() bool { return p.applied }

func (p *operatorPatch) Visit(n *ast.Node) {
	binary, ok := (*n).(*ast.BinaryNode)
	if !ok || p.applied {
		return
	}
	name := operatorFunction(binary.Operator, binary.Left.Type(), binary.Right.Type())
	if name == "" {
		return
	}
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: []ast.Node{binary.Left, binary.Right}}
	ast.Patch(n, call)
	p.applied = true
}

var (
	intType     = reflect.TypeFor[int]()
	decimalType = reflect.TypeFor[decimal]()
)

// operatorFunction names the function of an operator; empty if the language's own will do.
func operatorFunction(operator string, left, right reflect.Type) string {
	decimals := left == decimalType && (right == decimalType || right == intType) || left == intType && right == decimalType
	_, compares := comparisons[operator]
	switch f, computes := arithmetic[operator]; {
	case decimals && computes:
		return "numeric" + f.name
	case decimals && compares:
		return "numeric" + operator
	case computes && left == intType && right == intType:
		return "int" + f.name
	}
	return ""
}

// freshCalls forgets the types of calls after each pass. The checker takes a type that is there for
// good: it would keep one from before the patch, and not look at the arguments again.
type freshCalls struct{}

func (freshCalls) Reset()             {}
func (freshCalls) ShouldRepeat() bool { return false }

func (freshCalls) Visit(n *ast.Node) {
	if call, ok := (*n).(*ast.CallNode); ok {
		call.SetNature(nature.Nature{})
	}
}
