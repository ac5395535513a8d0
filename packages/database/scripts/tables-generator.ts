/**
 * The Prisma generator `tables`: writes `generated/tables.ts` from the models of a `schema.prisma`. Prisma runs it as a
 * process, so errors go back to `prisma generate`.
 */
import { readFile, writeFile } from 'node:fs/promises'
import prisma from '@prisma/generator-helper'
import { describeTables } from '../src/tables/describe-tables.ts'

prisma.generatorHandler({
  onManifest: () => ({ prettyName: 'Tables', defaultOutput: '../generated/tables.ts' }),
  onGenerate: async ({ generator, dmmf }) => {
    const file = generator.output?.value
    if (!file) throw new Error('The generator "tables" has no output.')
    const text = describeTables(dmmf.datamodel.models)
    const written = await readFile(file, 'utf8').catch(() => undefined)
    if (written !== text) await writeFile(file, text)
  },
})
