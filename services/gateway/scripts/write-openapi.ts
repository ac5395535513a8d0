/**
 * Writes docs/reference/openapi.json. Run it with `pnpm openapi`, after a change of a public schema, the route table or
 * operations.yaml.
 */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { openApiText } from '../src/openapi/document.ts'

await writeFile(path.resolve(import.meta.dirname, '../../../docs/reference/openapi.json'), openApiText())
