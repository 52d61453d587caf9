def page(r, s):
    return ""
