export * from './fences.ts'
export * from './key-record.ts'
export * from './read-user-keys.ts'
export * from './sealing-keys.ts'
