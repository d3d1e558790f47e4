// Package porttest reserves TCP ports of this machine for servers that tests and tools start later
// or restart. No other process gets a reserved port in between.
package porttest
