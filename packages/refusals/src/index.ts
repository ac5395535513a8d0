export { createKeptRefusals, type NoteRefusal } from './kept-refusals.ts'
export { createRefusalStore, KEPT_OF_A_REASON, type ReadRefusals, type RefusalStore } from './refusal-store.ts'
