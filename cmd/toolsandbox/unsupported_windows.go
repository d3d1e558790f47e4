package main

// The program ends the process groups of tool servers and reads its limits of files and memory in
// the ways of Unix, and nobody tests it on Windows. WSL runs the program of Linux.
var _ = on_Windows_run_the_Linux_program_in_WSL
