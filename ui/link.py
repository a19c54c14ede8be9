"""Where the console is, as the URL says it: ``page``, ``run``, ``task`` and other choices are keys of widgets bound to the query."""

import streamlit as st


def go(**places: str) -> None:
    """Set places from code, before their widgets are drawn or in a callback.

    A widget that is on the page carries its value into the URL by itself; for one that is yet to come the URL is written here.
    """
    for name, value in places.items():
        if name not in st.session_state:
            st.query_params[name] = value
        st.session_state[name] = value
