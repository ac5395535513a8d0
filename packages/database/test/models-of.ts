import type { Model } from '@prisma/dmmf'
import { getDMMF } from '@prisma/get-dmmf'

/** Returns the models of a `schema.prisma`, as a Prisma generator gets them. Throws for an invalid schema. */
export function modelsOf(schema: string): readonly Model[] {
  const read = getDMMF({ datamodel: schema })
  if ('type' in read) throw read.error
  return read.datamodel.models
}
