package markdown

import "strings"

// TableList turns a table block into a list: one item per row, the first cell in
// bold, the others behind the names of their columns. Anything else is returned
// as it is.
func TableList(block string) string {
	lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
	if len(lines) < 2 || !isTableHead(strings.TrimRight(lines[0], "\r"), strings.TrimRight(lines[1], "\r")) {
		return block
	}
	header := cells(lines[0])
	var out strings.Builder
	if len(lines) == 2 {
		out.WriteString("- " + strings.Join(header, ", ") + "\n")
	}
	for _, l := range lines[2:] {
		out.WriteString(listItem(header, cells(l)) + "\n")
	}
	if !strings.HasSuffix(block, "\n") {
		return strings.TrimSuffix(out.String(), "\n")
	}
	return out.String()
}

func listItem(header, row []string) string {
	var parts []string
	for i, cell := range row {
		switch {
		case cell == "" || i == 0:
		case len(header) == 2 || i >= len(header) || header[i] == "":
			parts = append(parts, cell)
		default:
			parts = append(parts, header[i]+": "+cell)
		}
	}
	rest := strings.Join(parts, "; ")
	switch first := row[0]; {
	case first == "":
		return "- " + rest
	case rest == "":
		return "- " + bold(first)
	default:
		return "- " + bold(first) + ": " + rest
	}
}

func bold(s string) string {
	if strings.ContainsAny(s, "*_`[") {
		return s
	}
	return "**" + s + "**"
}

// cells returns the trimmed cells of a row; it has at least one. An escaped pipe
// and one in a code span are part of their cell.
func cells(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimPrefix(row, "|")
	var out []string
	var cell strings.Builder
	inCode := false
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == '\\' && i+1 < len(row) && row[i+1] == '|':
			cell.WriteByte('|')
			i++
		case c == '|' && !inCode:
			out = append(out, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			if c == '`' && (inCode || strings.Contains(row[i+1:], "`")) {
				inCode = !inCode
			}
			cell.WriteByte(c)
		}
	}
	if last := strings.TrimSpace(cell.String()); last != "" || len(out) == 0 {
		out = append(out, last)
	}
	return out
}
