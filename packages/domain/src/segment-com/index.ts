export * from './segment-com-message.ts'
export * from './segment-com-rules.ts'
