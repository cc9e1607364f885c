"""Who answers requests: a provider through litellm, the offline author, or an earlier run."""
