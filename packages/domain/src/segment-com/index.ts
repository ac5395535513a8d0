export * from './segment-message.ts'
export * from './segment-rules.ts'
export * from './segment-words.ts'
