import { useNavigate } from '@tanstack/react-router'
import { Switch, type SwitchProps } from '../components/switch.tsx'

/** From the address; absent: production. */
type Environment = 'T' | undefined

const ENVIRONMENTS: SwitchProps<Environment>['options'] = [
  { value: undefined, label: 'Production' },
  { value: 'T', label: 'Test' },
]

/** Choice between forms and answers of production keys and of test keys. */
export function EnvironmentSwitch({ environment }: { readonly environment: Environment }) {
  const navigate = useNavigate()
  return (
    <Switch
      label="Environment"
      options={ENVIRONMENTS}
      chosen={environment}
      onChoose={(value) =>
        void navigate({
          to: '.',
          replace: true,
          search: (now) => ({ ...now, environment: value, after: undefined, page: undefined }),
        })
      }
    />
  )
}
