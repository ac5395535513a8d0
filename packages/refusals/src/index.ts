export * from './refusal-store.ts'
