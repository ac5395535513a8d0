#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

// Before anything else is loaded: halves the time until a command begins.
enableCompileCache()
// pnpm runs it in the checkout's root. Files are named from where the command was given.
// oxlint-disable-next-line node/no-process-env -- before any configuration is read
process.chdir(process.env['INIT_CWD'] ?? '.')
const { runProgram } = await import('./program.ts')
process.exitCode = await runProgram(process.argv)
