#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import path from 'node:path'
import { callersFolder } from './config.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../../..')

// Halves the start time of a command, so it precedes the import of the program.
enableCompileCache()
// pnpm runs the command in the checkout's root, but file names are relative to the caller's folder. In other folders,
// INIT_CWD may come from another script.
if (process.cwd() === CHECKOUT) process.chdir(callersFolder() ?? CHECKOUT)
const { runProgram } = await import('./program.ts')
process.exitCode = await runProgram(process.argv)
