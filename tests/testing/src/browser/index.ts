export * from './sign-in-on.ts'
export * from './start-browser.ts'
