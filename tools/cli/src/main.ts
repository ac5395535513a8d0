#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

// Before anything else is loaded: halves the time until a command begins.
enableCompileCache()
const { runProgram } = await import('./program.ts')
process.exitCode = await runProgram(process.argv)
