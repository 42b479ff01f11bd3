// Package testbrowser starts a headless Chromium for tests of pages.
//
// It owns finding and starting the browser. It must not know what is tested.
package testbrowser
