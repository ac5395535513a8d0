export type * from './projection.ts'
