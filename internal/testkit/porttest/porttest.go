// Package porttest keeps TCP ports of this machine for servers that tests and tools start later,
// and start again: between the moment a port is chosen and the moment its server listens nobody
// else gets it.
package porttest
