export { applyWorkspace } from './apply-workspace.ts'
export { parseWorkspaceFile, type Workspace } from './parse-workspace-file.ts'
export { reportStartChanges } from './report-start-changes.ts'
