// Package tokens counts the tokens of texts and messages.
//
// It owns the estimate that holds until a provider's usage says otherwise, and
// the tokenizer. It must not know windows, budgets or providers.
package tokens
