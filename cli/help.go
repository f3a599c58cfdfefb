package cli

// The templates of the help, for the whole, for commands, and for those that have commands below them.
const (
	appHelp = `{{.HelpName}}: {{.Usage}}

{{.Description}}

Usage:
  {{.HelpName}} COMMAND [flags]

Commands:{{range .VisibleCommands}}
  {{printf "%-10s" .Name}} {{.Usage}}{{end}}

More about one: {{.HelpName}} COMMAND --help
`
	commandHelp = `{{.HelpName}}: {{.Usage}}

Usage:
  {{.HelpName}}{{if .VisibleFlags}} [flags]{{end}}{{if .ArgsUsage}} {{.ArgsUsage}}{{end}}

{{.Description}}{{if .VisibleFlags}}

Flags:{{range .VisibleFlags}}
  {{.}}{{end}}{{end}}
`
	groupHelp = `{{.HelpName}}: {{.Usage}}

{{.Description}}

Commands:{{range .VisibleCommands}}
  {{printf "%-10s" .Name}} {{.Usage}}{{end}}
`
)
