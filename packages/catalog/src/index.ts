export type * from './catalog-view.ts'
