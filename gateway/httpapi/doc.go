// Package httpapi is everything that the gateway serves over HTTP: the API channel
// with its OpenAI-compatible routes, the platforms' webhooks, the admin API, and
// what operators look at (health, readiness, metrics, the API's description, the web
// console, whose pages are in gateway/console).
//
// It owns requests, responses, codes and tokens. Each file declares the few
// methods that it needs of the rest; gin is imported nowhere else. It must not
// know how anything is stored or run.
package httpapi
