export * from './api-key.ts'
export * from './event-slug.ts'
export * from './ids.ts'
export * from './occurred-at.ts'
