import { forbidPretenuring } from '../src/process/forbid-pretenuring.ts'

/** Works off a backlog, then folds small batches. Keeps each batch until the next one. */
interface Folded {
  readonly record: { readonly offset: number; readonly headers: readonly number[] }
}

forbidPretenuring()
let kept: readonly Folded[] = []

function fold(records: number): void {
  const batch: Folded[] = []
  for (let offset = 0; offset < records; offset += 1) {
    batch.push({ record: { offset, headers: [offset, offset, offset, offset] } })
  }
  kept = batch
}

for (let batch = 0; batch < 400; batch += 1) fold(4_000)
globalThis.gc?.() // so that no large collection is under way
process.stdout.write('small batches\n')
for (let batch = 0; batch < 50_000; batch += 1) fold(20)
process.stdout.write(`the last one has ${kept.length} records\n`)
