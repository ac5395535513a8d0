import { useNavigate, useSearch } from '@tanstack/react-router'
import { ProjectSelect, WithProject } from '../components/with-project.tsx'
import { Limits } from './limits.tsx'
import { Names } from './names.tsx'

/** A project's use of its limits, and its traits and events. */
export function Registry() {
  const navigate = useNavigate()
  const { project: chosen } = useSearch({ from: '/registry' })
  return (
    <>
      <header className="page-head">
        <h1>Registry and usage</h1>
      </header>
      <WithProject chosen={chosen}>
        {(project) => (
          <>
            <search className="card filters">
              <ProjectSelect
                {...project}
                onChoose={(name) => void navigate({ to: '/registry', replace: true, search: { project: name } })}
              />
            </search>
            <Limits project={project} />
            <Names key={project.name} project={project} />
          </>
        )}
      </WithProject>
    </>
  )
}
